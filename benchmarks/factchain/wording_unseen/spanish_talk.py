"""Spanish small talk of the unseen profile: the text around the facts. None of it is scored."""

TALK = """
Saludos desde el asiento de al lado, vamos detrás de {slow:un tractor|una caravana|un rebaño}.
Escribo con un pulgar, el otro conoció el cuchillo del pan.
Volvió la calefacción y con ella las ganas de vivir.
{kin} me enseñó un juego de cartas y perdí {=^#} rondas seguidas.
Había niebla en los campos, parecía de cine.
Mi bandeja dice {=+##} sin leer y no me lo creo.
El risotto me salió como para enlucir paredes.
Alguien calentó pescado en la oficina, la planta está de luto.
Voy con retraso en todo, pero contenta.
El perro de enfrente aúlla con {noise:el heladero|las campanas|la basura}.
El ensayo acabó a las once, me pitan los oídos.
Limpié la cocina en lugar de hacer la renta, como manda la tradición.
{kin} asegura que vio {bird:un martín pescador|una garza|un ratonero}, sin pruebas.
La cadena tardó {=^#} minutos en decirme que faltaba una coma.
Huele a barniz en la escalera y nadie sabe por qué.
La libreta cayó al fregadero, estoy reconstruyendo mi cerebro.
Le expliqué dos veces a mi padre qué es una pestaña.
Vivimos de las sobras de la fiesta, aceitunas sobre todo.
Por lo visto duermo con dos alarmas y un simulacro.
Los críos montaron una cueva con todos los cojines.
Media cuadrilla tiene gripe y la otra media disimula.
A mediodía estuve en un banco viendo discutir a los patos.
Es la época en que compro semillas y nunca las siembro.
Una clienta nos mandó un poema, y rima.
En mi portátil las pruebas pasan, y es lo que importa.
Lluvia en la tienda, té del termo, hay cosas peores.
El ascensor lleva {=^} semanas parado, mis gemelos son de concurso.
Llegó el sofá, no cabe por la puerta, nadie se rió.
Suelto lo que tengo en la cabeza antes de perderlo.
"""

ASK = """
¿Te convence?
¿Ves alguna trampa?
¿Lo repasamos juntos?
¿Me lo pasas a limpio?
¿Es una tontería en ese orden?
¿Por dónde tirarías?
Dime la verdad.
"""

REPLY = """
Bien, con eso ya puedo trabajar.
Empezaría por lo que frena a los demás.
Eso puede esperar a un día más tranquilo.
Nueve de cada diez veces es el adaptador.
Un ensayo sin público dice más que cualquier plan.
Si las instrucciones se contradicen, fíate de la hoja nueva.
Las abejas, como la gente, no quieren prisas.
Puedes repartirlo, un trozo para ti y otro para {kin}.
Suele ayudar escribir la prueba antes de tocar nada.
Una pizca de sal realza el dulce, curiosamente.
Guarda los recibos en un sobre y te lo agradecerás.
Es cuestión de gusto, y el tuyo me vale.
La documentación calla, así que un experimento corto será lo más rápido.
Déjalo enfriar {=^#} minutos antes de cortar.
Un invitado útil es un invitado feliz, reparte tareas.
No quedará perfecto ni hace falta.
El ruido será un rodamiento, y son baratos.
Lo que pase de {=^} años puede ir al desván.
Yo ensayaría también la restauración, una copia sin abrir es solo esperanza.
Con menos de {=^} años se suele viajar gratis, pero pregunta.
Una sola consulta lenta hace pesada toda la página.
La grava drena mejor de lo que se piensa.
Tu intuición acierta, la segunda opción arriesga menos.
Lo pesado abajo y lo frágil en las rodillas.
Nadie te obliga a contestar a todos el mismo día.
A veces el arreglo más barato es una pegatina.
De noche los colores cambian.
Si después chirría, basta una gota de aceite.
Plantéalo mejor como pregunta.
Vuelve a medir antes del taladro, las paredes nunca son rectas.
Consúltalo con la almohada, la oferta no se va.
"""

DECOYS = """
¿Y si fueran {=+##}, solo por jugar, te daría igual también?
En la novela el héroe esconde {=+###} monedas en lib/{pkg}/{src}.ts:{=+##}, bueno, casi.
Imagina un estadio con {=^#}.000 personas tarareando, así era.
Si un extraño te diera {=^##} euros por la bici, dirías que no, ¿verdad?
De modelo serviría «{given} {family}, mesa {=^}», solo por la disposición.
Los enlaces tipo https://sample.invalid/{=???###} siempre me dan mala espina.
"""

OPENERS = """
Bien mirado,
Visto de lejos,
Entre nosotros,
Por mi parte,
"""
