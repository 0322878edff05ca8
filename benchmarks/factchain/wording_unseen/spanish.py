"""Spanish facts of the unseen profile; the extractor's author never sees them or their failures."""

SLOTS = """
kin: Nahuel, Rocío, Iker, Marisol, Tomás, Ximena, Gael, Violeta
given: Adolfo, Berenice, Casilda, Evaristo, Herminia, Leocadio, Obdulia, Plácido
family: Arrieta, Bustamante, Cifuentes, Echeverría, Gálvez, Larrañaga, Nogales, Peñalver, Urrutia, Villalba
when: el lunes que viene, el martes por la noche, el miércoles temprano, el jueves al mediodía, el domingo
season: finales de enero, mediados de febrero, principios de julio, agosto, diciembre
vet: galgo, loro, gato, galápago
gig: boda, verbena, audición, cabalgata
hive: colmena norte, colmena roja, colmena del cobertizo, colmena nueva
car: ranchera, furgoneta, moto, camper
box: servidor de medios, clúster k3s, equipo de compilación, nodo del invernadero
prog: app de recetas, estación del tiempo, fototeca, web del concurso
"""

LABELS = """
decision: Queda acordado, Decisión
rule: Ojo, Norma
task: Por hacer, Que no se olvide
other: Apunta, Para que conste, Dato
"""

LEADS = """
Oye,
De paso,
Pues nada,
Y encima,
"""

NUMBER = """
U Cargada, la *{car}* pide [{=^,#} bares] delante, me lo escribió el mecánico en la rueda.
? ¿A cuánto inflo la {car}?
U [{=+#,# kilos}] marcó la báscula con el *{vet}*, de modo que la dosis va a la mitad.
? ¿Qué pesa ahora el {vet}?
U Anoche pesé la *{hive}* y con el alza salían [{=^#,# kg}], más de lo que esperaba.
? ¿Cuánto daba la {hive}?
U El catering de la *{gig}* nos pide [{=+}.{=+## €}] y las bebidas van aparte.
? ¿Qué costaría la comida de la {gig}?
U En mi móvil prehistórico la *{prog}* ya abre en [{=+## milisegundos}].
? ¿Cómo de rápido arranca la {prog}?
U Les quedan solo [{=+#,# metros}] *{cloth:de lino azul|de pana verde|de algodón a rayas|de fieltro gris}* y no reponen.
? ¿Cuánta tela hay en la tienda {cloth}?
M Más de [{=+## registros}] de golpe no le mandaría a la *{prog}*, la cuota es justa.
? ¿Qué tamaño de lote para la {prog}?
M Con las piernas de *{kin}*, un sillín a [{=^# cm}] del pedal es un buen comienzo.
? ¿Qué altura de bici va con {kin}?
"""

PATH = """
U Si buscas dónde la *{prog}* se traga la excepción, es [lib/{pkg}/{src}.ts:{=+##}], muy escondida.
? ¿Dónde se pierde el error de la {prog}?
U Mis partituras para la *{gig}* están guardadas como [/home/comun/{dir}/set-{=+##}.musx], el papel está en la banqueta.
? ¿Qué fichero tiene la música de la {gig}?
U En Windows la *{prog}* suelta el volcado en [C:\\Temp\\{dir}\\dump_{=####}.dmp], al menos en mi equipo.
? ¿Dónde recojo lo que deja la {prog} al morir?
U La cartilla de vacunas de *{kin}*, algo borrosa, la dejé en [~/Dropbox/{dir}/{kin}_{=####}.jpeg].
? ¿Con qué nombre está el justificante de {kin}?
U Diga lo que diga la wiki, el *{box}* lee sus ajustes de [/etc/{pkg}/{src}-{=##}.toml].
? ¿De dónde saca la configuración el {box}?
M La verdadera *{smell:carrera|fuga|deriva|recursión}* nace en [pkg/{pkg}/{src}.rs:{=+##}], lo otro es solo el síntoma.
? ¿En qué posición del fuente está la {smell}?
M El plano *{place:del granero|de la barcaza|del estudio|del local}* lo guardaste el otro día como
  [planos/{dir}/v{=##}.svg].
? ¿Qué dibujo enseña las estancias {place}?
M Yo empezaría a leer por [cuadernos/{dir}/{src}_{=##}.ipynb], ahí se pinta *{chart:la lluvia|la latencia|el polen|las
  bajas}*.
? ¿Dónde se hacen las gráficas sobre {chart}?
"""

ID = """
U *{kin}* cambió de móvil, está en el [6{=## ### ###}], la tarjeta vieja anda por un cajón.
? ¿Cómo llamo a {kin}?
U Al llamar por la *{car}* da enseguida el bastidor [{=@@@##@##@######}], si no ni miran.
? ¿Qué identificador de fábrica lleva la {car}?
U *{gear:La mesa de mezclas|La batería|El teclado|El ampli}* está en la póliza [{=@@/####/##}], por fin apareció la
  carta.
? ¿Qué contrato cubre: {gear}?
U La noche en que todo se torció devolvimos el *{box}* a la [v{=+}.{=#}.{=##}-g{=%%%%%%%}].
? ¿Qué versión volvió al {box}?
U El chip del *{vet}* lleva el [{=9########}{=######}], copiado del lector.
? ¿Por qué cifras se reconoce al {vet}?
M El identificador que la *{prog}* da en tu captura es [{=%%%%%%%%-%%%%-4%%%}], soporte lo va a pedir.
? ¿Qué cito a soporte por la {prog}?
M *{film:La novela negra|El recetario|La guía|El atlas}* tiene el ISBN [978-{=#-####-####-#}], casi cualquier
  biblioteca lo consigue.
? ¿Con qué referencia encargo: {film}?
M El paquete [{=@@#########@@}] es el que trae el regalo de *{kin}*, según el correo copiado.
? ¿Cómo sigo la sorpresa de {kin}?
"""

URL = """
U Para la *{gig}* se apunta todo el mundo en [https://{host}.events/si/{=??##??}], hasta mi tía.
? ¿Dónde confirman los de la {gig}?
U Fue [https://docs.{host}.app/{=+##}/{src}] lo que me hizo entender el *{box}*.
? ¿Qué artículo aclara el {box}?
U *{kin}* emite los ensayos, se ve en [https://{host}.tv/live/{=??????}] y sin registrarse.
? ¿Dónde se ve ensayar a {kin}?
U La cámara de la *{hive}* contesta en [http://{host}.local:{=8###}/cam], eso sí, solo desde casa.
? ¿Cómo miro la {hive} a distancia?
U Dejé una señal por la *{car}* en [https://{host}.market/anuncio/{=########}], la devuelven en quince días.
? ¿Dónde está el anuncio de la {car}?
M Lo que cambia en *{lib}* aparece en [https://{host}.dev/{=####}/notes], lo molesto al final.
? ¿Dónde leo las novedades de {lib}?
M Para prorrogar *{permit:la licencia de pesca|la caseta|el puesto|el carné de dron}* entra en
  [https://tramite.{host}.es/{=@@-##}] antes de que venza.
? ¿Qué sitio mantiene {permit}?
M Los acordes *{song:del bis|de la nana|del primer tema|del vals}* figuran en [https://{host}.band/tabs/{=+####}],
  cejilla en el dos.
? ¿En qué página está escrita la música {song}?
"""

PERSON = """
U Contratamos a [{given} {family}] con el acordeón para la *{gig}*, la señal está pagada.
? ¿Quién toca en la {gig}?
U Al *{vet}* lo operan y el bisturí lo lleva [{given} {family}], eso me tranquiliza.
? ¿Quién hace la cirugía del {vet}?
U Si el *{box}* cae de noche, [{given} {family}] tiene el busca hasta primavera.
? ¿A quién despertamos por el {box}?
U Desde la reorganización, por encima de mí está [{given} {family}], del área de
  *{dept:herramientas|crecimiento|firmware|investigación}*.
? ¿A quién rindo cuentas en {dept}?
U *{kin}* comparte piso con [{given} {family}], se conocieron en el rocódromo.
? ¿Con quién vive {kin}?
M Quien integró tu parche de *{lib}* fue [{given} {family}], según el hilo.
? ¿Quién aceptó mi aporte a {lib}?
M En ventanilla pregunta por [{given} {family}], de *{permit:la licencia de pesca|la caseta|el puesto|el carné de
  dron}* lo sabe todo.
? ¿Qué funcionario lleva {permit}?
M En el programa de tu foto dirige [{given} {family}] *{piece:el réquiem|el oratorio|la sinfonía|la misa}* esta vez.
? ¿Quién sube al atril con {piece}?
"""

DECISION = """
U Será [la camper {colour:mostaza|petróleo|ciruela|teja} de techo {roof:elevable|fijo}], lo que inclinó la balanza es
  que [cabe bajo la barra de 2,{=#} m].
? ¿Qué pesó para la de color {colour}?
U En la {prog} me quedo [con {lib} en vez de rehacerla], la razón es que [{kin} la cuida en solitario hasta {season}].
? ¿Con qué sigue la {prog}?
U {kin} y yo lo cerramos: [la {gig} va {venue:en el huerto|en el ayuntamiento|en el embarcadero|en la cervecera}], así
  [{=^#} sillas de ruedas entran sin escalón].
? ¿Qué lugar tiene la {gig}?
U Se acabó el debate, [la {hive} estrena reina a {season}], es que [picó a {kin} {=^} veces en una semana].
? ¿Qué se hace con la {hive}?
U Los registros del {box} se quedan [{=+# días en la máquina}], de ese modo [protección de datos no firma nada].
? ¿Cuánto guardamos lo del {box}?
M Vale, pues [{kin} coge el cuarto {room:de arriba|del jardín|de la esquina|azul}], tiene sentido ya que
  [{instrument:la batería|la trompeta|el chelo} allí no molesta].
? ¿Quién duerme en el cuarto {room}?
M Conclusión: [la {prog} sale sin {feat:modo oscuro|modo sin red|cuentas|avisos}], con el argumento de que [lo usaría
  el {=^} por ciento].
? ¿Qué se quitó de la {prog}?
M Elegiste [el abono {plan:mensual|familiar|joven|flexible} de tren], con el argumento de que [{kin} viaja {=^} veces
  por semana].
? ¿Por qué ese billete ({plan})?
"""

RULE = """
U El {vet} no puede probar [ni una miga de {treat:uva|cebolla|chocolate|aguacate}], [tiene el hígado delicado].
? ¿Qué comida es veneno para el {vet}?
U No se toca [el {box} mientras {kin} presenta], la otra vez [se apagó el escenario].
? ¿Cuándo dejamos en paz el {box}?
U Prefiero que no [vuelvas a sugerir {lib} para la {prog}], el equipo [votó en contra por {=^} a uno].
? ¿Qué herramienta no debe salir más con la {prog}?
U Pase lo que pase, [{secret:el embarazo|el nuevo trabajo|el diagnóstico|el compromiso} de {kin} no se cuenta] hasta
  [la fiesta de {season}].
? ¿Qué callamos de {kin}?
U Las fotos {kids:de los peques|del coro infantil|de los scouts|del equipo} no van [a ningún sitio público], los padres
  [firmaron solo para el folleto].
? ¿Qué no está permitido con las imágenes {kids}?
M Conviene que no [abras la {hive} por debajo de {=1# grados}], porque [la cría se enfría en minutos].
? ¿Con qué tiempo queda cerrada la {hive}?
M Cuidado con [pasar dos veces el importador de la {prog} por {unit:el mismo día|la misma carpeta|el mismo lote}], ya
  que [los totales se suman].
? ¿Qué no hay que repetir con la {prog}?
M No te dejan [arrastrar {trailer:un remolque de caballos|una barca|una caravana|una trituradora} con la {car}],
  [aguanta solo {=^##} kilos].
? ¿Qué no puede llevar la {car}?
"""

TASK = """
U {kin} espera de mí [{doc:el plano de mesas|el orden de los temas|la lista de invitados|el presupuesto}], eso debe
  [salir {when}].
? ¿Qué aguarda {kin}?
U Prometí [pasar la ITV de la {car}] [mientras el taller tenga hueco a {season}].
? ¿Qué revisión le toca a la {car}?
U También está [el certificado de la {prog} por prorrogar], [caduca {when}].
? ¿Qué vence pronto en la {prog}?
U Siempre se me olvida [encargar {=^#} cuadros para la {hive}], [el proveedor cierra a {season}].
? ¿Qué material no tiene la {hive}?
U En mi lista para {when}: [pasar el ajuste de {lib} del {box}] y [borrar la rama vieja].
? ¿Qué migración del {box} es cosa mía?
M Te queda entonces [el discurso para {kin}], [de {=^} minutos como mucho].
? ¿Qué texto para {kin} no existe?
M Aparcamos [el asunto {feat:del modo oscuro|de las cuentas|de los avisos} de la {prog}], [se retoma {when}].
? ¿Qué tema de la {prog} está en espera?
M Vas a tener que [apuntar al {vet} en la residencia] [antes del viaje de {season}].
? ¿Qué se organiza para el {vet} antes de irnos?
"""

REJECTED = """
U Ya no nos convence [{venue:el huerto|el ayuntamiento|el embarcadero|la cervecera} para la {gig}], resulta que [cortan
  la música a las {=2#}].
? ¿Qué pegas tenía {venue} para la {gig}?
U {lib} tentaba para la {prog}, pero [abandoné {lib}] tras [{=^# fallos en una tarde}].
? ¿Por qué la {prog} no va con {lib}?
U Mi madre quería que [{kin} estudiara en {city:Oviedo|Oporto|Mérida|Lleida}] y dijimos que no, [el alquiler son {=+##}
  euros].
? ¿Por qué {kin} no va a {city}?
U A nadie le gustó [el uniforme {colour:mostaza|petróleo|ciruela|teja} para la {gig}], [parece de
  {chain:banco|aerolínea|hamburguesería}].
? ¿Qué opinamos de la ropa {colour}?
U Le di vueltas a [dejar el {box} en manos de una empresa], y no, [cobran {=^# euros por disco al mes}].
? ¿Por qué no pagamos a nadie por el {box}?
M Rechazasteis [{breed:el siamés|el collie|el periquito|el conejo} del refugio], dado que [{kin} estornuda al lado].
? ¿Qué animal no vino por {kin}?
M [{lib} dentro del {box}] se desestimó, con el argumento de que [come {=^} GB parado].
? ¿Qué era demasiado glotón para el {box}?
M En vez de [la ruta {route:del canal|de la costa|del páramo|del valle} con el {vet}], buscad otra, hay [{=^# vallas
  que saltar}].
? ¿Por qué no pasear ahí con el {vet} ({route})?
"""

UPDATE = """
U *{kin}* aterriza *{when}* a las [{=1#.~5}], estaré con un cartel ridículo.
+ El vuelo de *{kin}* va con retraso, *{when}* cuenta con las [{=2#.~5}] en la misma terminal.
? ¿En qué momento recojo a {kin} en el aeropuerto?
U La *{prog}* conserva las *cookies* [{=+# días}], nadie ha protestado nunca.
+ Los abogados despertaron: las *cookies* de la *{prog}* viven [{=+# días}] como máximo.
? ¿Cuánto dura la sesión en la {prog}?
U El puesto en *{fair:la feria de primavera|el mercado nocturno|la feria del libro|el mercado de otoño}* nos sale por
  [{=+## €}], luz incluida.
+ Hay tarifa nueva para *{fair}*, nos reclaman [{=+## €}].
? ¿Qué pagamos por estar en {fair}?
U La *wifi* {place:del granero|de la barcaza|del estudio|del local} se abre con [{=???##???}], todo en minúsculas.
+ Alguien reinició el router, la *wifi* {place} quiere [{=???##???}] estos días.
? ¿Cómo me conecto {place}?
U En la *{gig}* sentamos a [{=5# invitados}], justos pero se puede.
+ Con las respuestas del fin de semana, la *{gig}* sube a [{=8# invitados}], socorro.
? ¿Cuántas sillas pide la {gig}?
U Al *{box}* le puse [{=1# GB}] de *memoria*, la placa no admite más.
+ Apareció otro módulo en un cajón, el *{box}* tiene [{=3# GB}] de *memoria* desde anoche.
? ¿Cuánta RAM lleva el {box}?
M Según dices, la *{prog}* cuenta hasta ahora con [{=^}.{=+## euros}] para *alojamiento*.
+ Visto el recorte, al *alojamiento* de la *{prog}* le tocan [{=^}.{=+## euros}] y ni un céntimo por encima.
? ¿Qué puede costar el servidor de la {prog}?
M Con ese peso, el *{vet}* debería tomar [{=1## ml}] de *jarabe* dos veces al día.
+ A la vista del análisis, baja el *jarabe* del *{vet}* a [{=^# ml}] dos veces al día.
? ¿Qué dosis toma el {vet}?
"""
