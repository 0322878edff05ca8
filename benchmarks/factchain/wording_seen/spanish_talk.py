"""Spanish small talk of the seen profile: the text around the facts. None of it is scored."""

TALK = """
Llueve desde el {day} y la ropa no se seca.
He dormido mal, así que perdona si suena un poco revuelto.
Los vecinos están arreglando {what:el tejado|la entrada|la chimenea} y el ruido empieza antes de las siete.
{who} te manda recuerdos, comimos {food:sopa|croquetas|un asado|empanadillas} y hablamos durante horas.
Media mañana buscando las gafas y las llevaba en la cabeza.
En el trabajo hubo poco movimiento, casi todos siguen de vacaciones.
El domingo fueron {=1#}.{=###} pasos por {town} y todavía me duelen los pies.
Tengo {drink:un té|un café|un chocolate} al lado y una hora de calma.
La panadería nueva de la esquina está bien, pero los panecillos son diminutos.
En correos tenía otra vez {=+#} personas delante.
Pregunto mucho, lo sé, pero escribirlo me ayuda a aclararme.
El tren llegó tarde y me leí {=+#} páginas de la novela que mencionaste.
{who} está con catarro y a mí ya me pica la garganta.
Por fin vimos la película de la que todos hablan y me dormí a la mitad.
La compilación estuvo en rojo casi toda la tarde, sobre todo por las máquinas.
Repasé los registros con un bocadillo en la mano y no vi nada raro.
Las revisiones tardan una eternidad, cada uno anda con su rama.
Los nombres de ese módulo siguen sin gustarme, pero es cuestión de gustos.
La planta de la oficina perdió otra hoja, quedan {=^}.
El jardín está salvaje, pero a las abejas les encanta.
Probé tu truco del trapo húmedo y fue sorprendentemente bien.
De vuelta a casa me crucé con {who}, no nos veíamos desde hacía {=^} años.
Los precios están locos, casi {=^} euros por {small:una coliflor|un bote de aceitunas|un manojo de menta}.
Quiero dejarlo resuelto antes del fin de semana, si no le doy vueltas.
La gata ha decidido que las cajas de la mudanza son suyas.
Nada urgente, estoy ordenando mis notas y pensando en voz alta.
El abuelo llamó y volvió a contar la historia {story:del ganso|del tractor|de la maleta}.
El {day} tenemos visita, así que la casa debe estar medio decente.
Quería salir a correr, pero ganó el sofá.
"""

ASK = """
¿Qué te parece, suena razonable?
¿Me lo puedes ordenar un poco?
¿Se me ha escapado algo?
¿Cómo lo harías tú?
¿Me escribes dos o tres frases para mandar a {who}?
¿Hay una manera más sencilla?
¿Cuál sería el siguiente paso?
"""

REPLY = """
Suena razonable, yo avanzaría en pasos pequeños.
Gracias por los detalles, así el cuadro queda mucho más claro.
Para la parte de fuera merece la pena esperar a un día seco.
En general, la solución más sencilla es la que se entiende un año después.
Yo escribiría primero a {who}, porque lo demás depende de la respuesta.
Suele haber dos o tres maneras, y se diferencian sobre todo en el esfuerzo.
Con el resto puedes tomarte tu tiempo, no se estropea nada.
Un mensaje corto a todos ahorra a menudo una larga discusión.
Si llueve el {day}, haces la parte de dentro y no pierdes nada.
Miraría los registros de ese momento antes de tocar ajustes.
La mayoría de programas lo ofrecen, aunque el menú cambie de nombre.
Ayuda hacerlo una vez a mano, así se ve dónde se va el tiempo.
Pruébalo con una muestra pequeña y luego con todo.
Mucha gente tropieza ahí, no te desanimes.
En habitaciones al norte, un blanco cálido resulta más acogedor.
Deja reposar la masa una noche en frío si se pega a las manos.
Casi siempre se subestima lo que tarda el lijado.
Un tono amable funciona mejor que una lista larga de artículos.
Si quieres lo convierto en un mensaje.
El orden da igual, salvo que medir va primero.
Una foto antes no cuesta nada, solo para comparar.
Si el primer intento falla, el segundo suele salir a los {=^#} minutos.
Entre dos va mucho más rápido.
También depende un poco de la estación, claro.
Por lo que cuentas, la causa está más en la configuración que en el código.
Un índice ayuda aquí solo si la consulta filtra por esa columna.
Unos {=^} de cada diez casos así son cosa del cable.
En {town} tuvieron algo parecido el año pasado.
Entiendo el enfado, esos impresos no están hechos para personas.
En caso de duda, pide una confirmación por escrito.
Las dos variantes valen, coge la que parezca menos trabajo.
"""

DECOYS = """
Si la habitación midiera {=^},{=#} metros más, cabría otro sofá, pero no es así.
Pongamos que alguien cobra {=1##} euros la hora, ¿sería normal por aquí?
Un archivo como src/{mod}/{file}_viejo.py:{=+##} no lo encontraría nadie, en teoría.
Imagina que hubiera {=+##} usuarios a la vez, que no los hay, ¿cambiaría algo?
En la película la caja fuerte tenía el {=+###} y nadie lo adivinaba.
Una dirección de esas tiene pinta de https://example.org/{=???}/{=###}, solo como muestra.
"""

OPENERS = """
Sinceramente,
En general,
Por experiencia,
A mi modo de ver,
"""
