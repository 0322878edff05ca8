"""Spanish facts of the seen profile: the author of the extractor may look at failures here."""

SLOTS = """
who: Lucía, Mateo, Carmen, Diego, Elena, Pablo, Sofía, Hugo
first: Amparo, Benito, Consuelo, Emilio, Gloria, Ignacio, Pilar, Ramón
last: Aguirre, Beltrán, Cabrera, Escudero, Figueroa, Montero, Olmedo, Quintana, Salcedo, Zamora
day: lunes, martes, miércoles, jueves, viernes, sábado
month: marzo, abril, mayo, junio, septiembre, octubre, noviembre
shop: Ferretería Luna, Maderas Soto, Azulejos Prado, Leroy
town: Ronda, Cuenca, Llanes, Jaca, Nerja
env: preproducción, producción, el entorno de pruebas, la demo
plant: tomates, calabacines, pimientos, guisantes
part: reintentos, bloqueos, cachés, páginas
bug: bucle de acceso, fuga de memoria, página en blanco, correo doble
damage: daño por agua, cristal roto, robo de la bici, daño por granizo
club: remo, ajedrez, tenis, coro
"""

LABELS = """
decision: Decisión, Decidido
rule: Regla, Importante
task: Pendiente, Recordatorio
other: Nota, Recuerda, Que conste
"""

LEADS = """
Ah,
Por cierto,
Bueno,
Además,
"""

NUMBER = """
U La *caldera* {house:del sótano|del apartamento|del taller|del anexo} solo va bien a [1,{=#} bares], por encima la
  válvula empieza a gotear.
? ¿Qué presión quiere la calefacción {house}?
U La fisio quiere que *{who}* aguante *{move:la plancha|el puente|la sentadilla|la zancada}* [{=+#} segundos], tres
  veces al día.
? ¿Cuánto rato debe mantener {who} la postura?
U Bajamos el *límite* de espera en *{env}* a [{=+##} ms], porque detrás se formaba cola.
? ¿Cuándo se corta una petición en {env}?
U Para *{bread:el pan de centeno|la focaccia|el brioche|la masa de pizza}* al final puse [{=+##} g] de masa madre, algo
  más que en el libro.
? ¿Qué cantidad de fermento lleva {bread}?
U Lo medí dos veces y el hueco para *{furn:la nevera|el armario|la lavadora|la estantería}* tiene exactamente
  [1{=##},{=#} cm] de ancho.
? ¿Cuánto espacio hay donde irá {furn}?
M En un bancal de ese tamaño, los *{plant}* quieren unos [{=+#} cm] entre planta y planta.
? ¿Qué separación conviene para {plant}?
M A este paso, el bote para *{pot:las vacaciones|el tejado|el colegio|el coche}* llegará a [{=+}.{=+##} euros] al final
  de la primavera.
? ¿Cuánto se habrá ahorrado para {pot}?
M Yo le daría a *{svc}* una *reserva* de [{=+#} conexiones], así queda margen para las tareas nocturnas.
? ¿Cuántos accesos a la base aconsejaste para {svc}?
"""

PATH = """
U El fallo de redondeo está en [src/{mod}/{file}.py:{=+##}], alguien trunca *{kind:la factura|el abono|el vale|el
  presupuesto}* antes del impuesto.
? ¿En qué punto del código sale mal el importe de {kind}?
U El escaneo *{doc:del contrato|del pasaporte|de la garantía|del libro de familia}* lo guardo en
  [~/Documentos/{folder}/scan-{=####}.pdf], el papel lo tiene mi madre.
? ¿Dónde está en mi ordenador la copia digital {doc}?
U La prueba caprichosa de *{feat:las subidas|los cupones|las contraseñas|las exportaciones}* es
  [tests/{mod}/test_{file}.py:{=+#}], falla una de cada diez veces.
? ¿Qué comprobación no es fiable con {feat}?
U Las fotos *{event:de la boda|del bautizo|del buceo|de la graduación}* acabaron en [/mnt/nas/fotos/{folder}_{=20##}],
  junto a los vídeos viejos.
? ¿En qué carpeta de red están las imágenes {event}?
U Las cuentas del club de *{club}* están en [comun/{folder}/caja-{=####}.ods], y solo la tesorera puede escribir ahí.
? ¿Qué hoja lleva las finanzas de {club}?
M La lógica de *{part}* empieza en [internal/{mod}/{file}.go:{=+##}], ahí pondría yo el punto de parada.
? ¿En qué línea comienza lo de {part}?
M He puesto la lista de equipaje para *{trip:Lisboa|Córcega|los Alpes|Dublín}* en [listas/{folder}-{=###}.md], con las
  medicinas arriba.
? ¿En qué archivo está lo que llevamos a {trip}?
M La migración que falla en la tabla *{table:clientes|reservas|pagos|existencias}* es
  [db/migrate/{=0###}_{file}.sql:{=+#}], añade una columna sin valor.
? ¿Qué cambio de base rompe {table}?
"""

ID = """
U *{item:El lavavajillas|La bici de carga|El sofá cama|La bomba de calor}* se pidió con el número [{=@@-######}], por
  si pregunta el servicio técnico.
? ¿Qué referencia de compra tiene: {item}?
U Buscando por mitades, el problema de *{bug}* aparece en el commit [{=%%%%%%%%}] del mes pasado.
? ¿Qué revisión trajo lo de {bug}?
U El carné nuevo de la *biblioteca* de *{who}* lleva el [{=#### #### ##}], el viejo se quedó en el autobús.
? ¿Con qué número saca libros {who}?
U Nuestro código de reserva para *{leg:el ferri|el tren nocturno|el coche|el camping}* es [{=@@#@##}], lo aceptan solo
  con pasaporte.
? ¿A qué localizador está {leg}?
U El seguro abrió el *{damage}* como expediente [{=+#-####-####}], contestan en dos semanas.
? ¿Qué caso es el de {damage} en la aseguradora?
M La traza que pegaste es de la petición [req_{=%%%%%%%%%%}], en la que *{svc}* respondió dos veces.
? ¿Qué llamada atendió {svc} por duplicado?
M En tu foto, *{dev:el router|la impresora|el termostato|el horno}* tiene el número de serie [{=@#@@####}], así que
  sigue en garantía.
? ¿Qué pone en la placa: {dev}?
M Según el fichero de bloqueo, *{env}* iba con la imagen [sha256:{=%%%%%%%%%%%%}] cuando todo funcionaba.
? ¿Con qué versión iba bien {env}?
"""

URL = """
U La maestra de *{who}* sube los deberes a [https://{site}.org/clase/{=#??#}], ni siquiera hace falta contraseña.
? ¿Dónde miro lo que {who} tiene que hacer para el cole?
U Las fotos *{event2:de la fiesta|de la regata|del mercadillo|de la romería}* están en
  [https://{site}.net/a/{=????##}], pero el enlace caduca en un mes.
? ¿Cuál era la dirección del álbum {event2}?
U El *panel* con las curvas de *{env}* está en [https://{site}.io/d/{=%%%%%%}], hay que entrar con la VPN.
? ¿Dónde veo las mediciones de {env}?
U Compré *{part2:las bisagras|la lechada|las tejas|el grifo}* en [https://{site}.es/shop/{=#####}], el envío es gratis
  desde cincuenta euros.
? ¿En qué tienda de internet compramos {part2}?
U Todas las capturas de lo de *{bug}* están en [https://{site}.dev/issues/{=+###}], lee primero el último comentario.
? ¿Qué tique explica lo de {bug}?
M El impreso oficial para *{matter:el cambio de domicilio|el aparcamiento|la ayuda|la tasa}* está en
  [https://{site}.es/f/{=@#-###}] y lleva diez minutos.
? ¿En qué página se solicita {matter}?
M Hay una buena guía sobre *{topic:los interruptores|las reservas de conexiones|las cuotas|el despliegue gradual}* en
  [https://{site}.io/guide/{=###}], con esquemas.
? ¿Qué tutorial me diste para {topic}?
M Mi versión *{dish:del gazpacho|de la tortilla|de las lentejas|del bizcocho}* sale de [https://{site}.com/r/{=####}],
  con la mitad de sal.
? ¿De dónde viene tu receta {dish}?
"""

PERSON = """
U *{trade:El fontanero|El electricista|El alicatador|El techador}* de los vecinos se llama [{first} {last}] y solo
  contesta mensajes.
? ¿Cómo se llama el profesional de al lado ({trade})?
U Ahora es [{first} {last}] quien da clase *{subj:de violín|de mates|de natación|de dibujo}* a *{who}*, con mucha
  paciencia.
? ¿Quién enseña a {who} ({subj})?
U En el equipo de *{team:pagos|móvil|datos|plataforma}* es [{first} {last}] quien aprueba las entregas, incluso en
  vacaciones.
? ¿Qué persona da el visto bueno en {team}?
U En el banco, [{first} {last}] lleva *{deal:la hipoteca|el plan de ahorro|la cuenta común|el seguro de vida}* y
  prefiere que llamemos antes de comer.
? ¿A quién llamo por {deal}?
U *{thing:El piano|La caravana|El cortacésped|La cuna}* se lo queda [{first} {last}], que vendrá con un remolque.
? ¿Para quién es: {thing}?
M Según el historial, [{first} {last}] escribió casi todo el código de *{part}*, yo le preguntaría.
? ¿Quién sabe más de {part}?
M El acta del club de *{club}* nombra a [{first} {last}] para la tesorería, por un voto.
? ¿Quién guarda el dinero de {club}?
M La carta sobre el *{damage}* que copiaste la firma [{first} {last}], ahí debería ir la respuesta.
? ¿Quién nos escribió del seguro por {damage}?
"""

DECISION = """
U Al final nos quedamos con [la encimera de {wood:roble|nogal|haya|fresno} de {shop}], sobre todo porque [se puede
  volver a lijar].
? ¿Por qué {wood} en la cocina?
U Después de esa llamada tan larga vamos con [{tech} para la cola de {svc}], ya que [{=^} de nosotros ya lo hemos
  llevado].
? ¿Qué moverá los mensajes de {svc}, y el motivo?
U Los niños votaron y pasamos las vacaciones de {hol:otoño|invierno|primavera|Navidad} [en el lago cerca de {town}],
  porque [el tren tarda menos de {=^} horas].
? ¿Adónde viajamos por {hol}?
U Me he decidido a [operar la rodilla de {who} en {month}], dado que [la lista de espera es más corta].
? ¿Cuándo es la intervención de {who}?
U El código de {svc} se queda [en el mismo repositorio que {tool:la app móvil|el panel|el portal|la caja}], así [cada
  versión es una sola etiqueta].
? ¿Cómo se guarda {svc} respecto a {tool}?
M Entonces habéis optado por [dividir las tablas de {svc} por {dim:cliente|región|mes|oficina}], porque [cada índice
  queda por debajo de {=+#} GB].
? ¿Cómo es la partición de {svc}?
M Pues van [los {plant} en el bancal {side:sur|norte|este|oeste}] este año, puesto que [allí da el sol {=^} horas].
? ¿Qué crece en el lado {side}?
M Según lo hablado, [el dinero para {pot:las vacaciones|el tejado|el colegio|el coche} va al depósito], porque [da un
  {=+},{=#} por ciento hasta {month}].
? ¿Dónde ponemos lo ahorrado para {pot}?
"""

RULE = """
U Nunca le des [a {who} nada con {food:avellanas|gambas|lactosa|sésamo}], la última vez [acabamos en urgencias].
? ¿Qué no puede comer {who}?
U Por favor, [nada de subir {svc} después de las {=1^} el {day}], [nadie está de guardia].
? ¿Cuándo no se publica {svc}?
U Bajo ningún concepto [se restaura {env} con la copia del {day}], [todavía lleva clientes reales].
? ¿Qué respaldo está vetado en {env}?
U Que nadie [enchufe nada {room:en el pasillo|en la cocina|en el trastero|en el garaje}] mientras [esté en marcha el
  {dev:horno|secador|soldador|compresor}].
? ¿Qué evitamos con la toma {room}?
U En los correos a {who} no quiero [ni una palabra sobre {topic:la herencia|el piso viejo|la factura|el coche}], eso
  [reaviva la pelea].
? ¿Qué callamos ante {who}?
M Jamás se deben [mezclar {cleaner:el desatascador|la lejía|el antical|el gel del váter} y vinagre], porque [los
  vapores son tóxicos].
? ¿Qué es peligroso con {cleaner}?
M No escribas [{field:la fecha de nacimiento|el número de tarjeta|la dirección|el NIF} de un cliente en los registros],
  la auditoría [lo cuenta como infracción].
? ¿Qué pasa con {field} y las trazas?
M No se poda [{bush:el cerezo|la lila|la hortensia|el magnolio} en {month}], puesto que [ya tiene las yemas].
? ¿Cuándo dejamos las tijeras: {bush}?
"""

TASK = """
U Me falta [llamar {office:al ayuntamiento|al casero|a la mutua|a la guardería} por lo de {who}], [antes del {day} a
  mediodía].
? ¿Qué telefonazo hay por {who}?
U Alguien tiene que [renovar la clave de firma de {svc}], [como tarde el {=2+}].
? ¿Qué se cambia en {svc}, y para cuándo?
U Cuando seque la pintura quiero [volver a poner los rodapiés {room:del pasillo|del cuarto|del despacho|del trastero}],
  [seguramente el {day}].
? ¿Qué remate queda {room}?
U Todavía no hemos [devuelto {thing:la escalera|el remolque|la tienda|el taladro} a {who}], [hace falta para el {day}].
? ¿Qué le debemos a {who}?
U Por mi parte queda [la prueba de carga de {svc}], para [enseñarla al equipo el {day}].
? ¿Qué medición de {svc} presento?
M Sigue faltando [el control de {file} para {env}], que [querías añadir antes del {day}].
? ¿Qué ibas a montar en {env}?
M También querías [preguntar a {who} por {item:la copia de llaves|la silla del coche|la cama supletoria|la nevera}]
  [cuando os veáis el {day}].
? ¿Qué duda hay para {who}?
M Abierto en la lista: [encargar {=+#} litros de {stuff:pintura|sustrato|barniz|abono}] [en {shop} antes del {day}].
? ¿Qué provisión de {stuff} se compra?
"""

REJECTED = """
U Miramos [el toldo {brand:Solero|Markant|Veltura|Nordlicht}] y lo dejamos, [vibra con cualquier viento].
? ¿Qué tiene de malo el parasol {brand}?
U Probé [{tech} como caché de {svc}] una semana y lo quité, [perdía {=+#} claves en cada reinicio].
? ¿Qué almacén no sirvió para {svc}?
U La idea de [celebrar el cumple de {who} {place:en el rocódromo|en la granja|en la piscina|en el museo}] queda fuera,
  [está lleno hasta {month}].
? ¿Por qué {who} no hace la fiesta {place}?
U Pensamos en [mudarnos a {town}] y dijimos que no, [el trayecto serían {=+#} minutos].
? ¿Por qué no vivimos en {town}?
U {who} propuso [{fw:GraphQL|gRPC|websockets|un bus de mensajes} para {svc}], pero no lo haremos, [haría falta otra
  pasarela].
? ¿En qué quedó la propuesta de {who} para {svc}?
M Así que [{way:la carretera de la costa|el ferri nocturno|el puerto|el coche cama} hacia {town}] se descarta, ya que
  [cuesta {=+#} euros más].
? ¿Qué ruta a {town} eliminamos?
M Yo no volvería [a la dieta {kind:cetogénica|cruda|de zumos|de la col}], tu médico [la descartó por el valor renal de
  {=+#}].
? ¿Por qué no me conviene comer así ({kind})?
M Descartamos [trocear {svc} por {dim:hash|fecha|país|usuario}], porque [los informes unen {=^} trozos].
? ¿Qué rechazamos para escalar {svc}?
"""

UPDATE = """
U *{who}* tiene cita *{appt:con el dentista|con el oculista|para la vacuna|en la peluquería}* el {day} a las
  [{=1#:~5}], llevo el coche.
+ Llamaron por la cita de *{who}* *{appt}*, la pasan a las [{=1#:~5}] al final.
? ¿A qué hora tiene que estar {who} ({appt})?
U *{svc}* funciona de momento con un *límite* de [{=+#} segundos], que me parece mucho.
+ Hoy toqué el *límite* de *{svc}* y lo dejé en [{=+#} segundos], sin quejas.
? ¿Cuánto puede tardar {svc} antes del corte?
U El *alquiler* {flat:del piso de la plaza|del garaje|del estudio|del trastero} es de [{=+##} euros] al mes, sin
  calefacción.
+ Nos lo suben, el *alquiler* {flat} pasa a [{=+##} euros] desde el mes que viene.
? ¿Qué pagamos {flat}?
U *{who}* calza un [{=3#,5}], por si alguien pregunta por *zapatos*.
+ *{who}* ha vuelto a crecer, en *zapatos* ya es un [{=4~,5}] desde esta semana.
? ¿Qué número de pie tiene {who}?
U La entrega de *{svc}* está prevista como versión [{=+.#.1#}], con congelación dos días antes.
+ Una corrección pequeña, *{svc}* sale como [{=+.#.2#}] porque el primer paquete estaba roto.
? ¿Con qué número se publica {svc}?
U El *código* de la puerta {place:del embarcadero|del apartamento|del local|del huerto} es [{=+###}], guárdatelo.
+ Cambiaron el *código* de la puerta {place}, se entra con [{=+###}] desde ayer.
? ¿Qué tecleo a la entrada {place}?
U Para la noche de *{club}* llevamos [{=1#} personas] en la lista, contando a los dos de al lado.
+ Dos se caen y una se apunta, la noche de *{club}* va por [{=2#} personas] a día de hoy.
? ¿Cuántos invitados hay en {club}?
M Con la oferta de *{shop}*, *{work:las ventanas|la escalera|el baño|la terraza}* costaría [{=+}.{=+##} euros], todo
  incluido.
+ Con la oferta corregida de *{shop}*, *{work}* queda en [{=+}.{=+##} euros], la suma anterior no vale.
? ¿Qué precio pide {shop}?
M La *copia* nocturna de *{svc}* debería arrancar a las [{=+:~5}], justo tras la importación.
+ Como la importación tarda más, mejor que la *copia* de *{svc}* arranque a las [{=+:~5}].
? ¿Cuándo se respalda {svc}?
"""
