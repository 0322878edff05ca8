"""Portuguese facts of the third profile: nobody tunes the ledger on them."""

SLOTS = """
kin: Beatriz, Gonçalo, Inês, Duarte, Matilde, Rui, Teresa, Vasco, Leonor, Afonso
given: Anselmo, Benilde, Custódio, Dulce, Eusébio, Firmina, Graciano, Ilda, Jacinto, Olívia
family: Abrantes, Barradas, Cascais, Falcato, Guedelha, Lourinho, Magriço, Peixinho, Serrano, Tavares
when: na segunda que vem, terça à noite, quarta bem cedo, quinta ao almoço, domingo
season: fins de janeiro, meados de fevereiro, princípio de julho, agosto, dezembro
pet: galgo, periquito, coelho, furão, papagaio
event: romaria, vernissage, regata, quermesse, feira do bairro, matiné
boat: traineira, canoa, lancha, jangada, chalupa
plot: horta velha, estufa grande, pomar de cima, vinha nova, canteiro sul
box: servidor de cópias, nó de borda, balanceador, cofre de segredos, agregador
prog: agenda coletiva, loja de discos, painel de marés, jogo de cartas, fila de espera, leitor de faturas
"""

LABELS = """
decision: Resolvido, Fica decidido
rule: Regra da casa, Condição
task: Por fazer, Pendência
other: Apontamento, Para memória futura, A reter
"""

LEADS = """
Olha,
Já agora,
Pois é,
Enfim,
A propósito,
"""

NUMBER = """
U A *{boat}* só navega direita com [{=^## kg} de lastro], medimos isso no cais.
? Quanto peso leva a {boat} no fundo?
U O veterinário pôs o *{pet}* na balança e deu [{=+,# kg}], nada mau.
? Que peso tem o {pet}?
U Na *{plot}* o contador marcou [{=+## litros}] de rega esta semana, mais do dobro.
? Que consumo de água teve a {plot}?
U O orçamento da tenda para a *{event}* veio em [{=+}.{=+## €}], sem montagem.
? Por quanto nos alugam a cobertura na {event}?
U Com o índice novo, a *{prog}* responde em [{=+## ms}] até no meu tablet velho.
? Que latência tem a {prog}?
U Sobraram [{=^#,# metros}] *{cloth:de chita azul|de lona crua|de flanela|de burel}* lá na retrosaria.
? Que comprimento ainda há {cloth}?
M Eu não passaria de [{=+## pedidos}] por lote quando a *{prog}* fala com o parceiro.
? Até onde vai cada remessa da {prog}?
M Para a altura de *{kin}*, um guiador a [{=^# cm}] do chão é um bom começo.
? Onde fica a direção da bicicleta de {kin}?
M A compota *{jam:de figo|de marmelo|de abóbora|de tomate}* ganha ponto aos [10{=+} °C], nem mais nem menos.
? Até que temperatura cozo {jam}?
"""

PATH = """
U A exceção da *{prog}* morre calada em [core/{pkg}/{src}.go:{=+##}], dentro de um bloco vazio.
? Em que sítio desaparece o erro da {prog}?
U As pautas da *{event}* deixei-as em [/srv/partilha/{dir}/caderno-{=+##}.pdf], as impressas estão no piano.
? Que ficheiro traz a música da {event}?
U No portátil de trabalho a *{prog}* despeja a memória em [D:\\Dumps\\{dir}\\queda_{=####}.dmp], pelo menos comigo.
? Para onde vai o despejo quando a {prog} rebenta?
U O boletim de vacinas de *{kin}* está em [~/Nuvem/{dir}/{kin}_{=####}.png], um bocado tremido.
? Com que nome guardei o papel das picas de {kin}?
U O *{box}* lê tudo de [/opt/{pkg}/{src}-{=##}.yaml], diga o manual o que disser.
? De onde tira o {box} as definições?
M A verdadeira *{bug:corrida|fuga|regressão|dessincronia}* nasce em [internal/{pkg}/{src}.rs:{=+##}], tudo o resto é eco.
? Que linha causa a {bug}?
M A planta *{place:do moinho|do sótão|da barcaça|do clube}* ficou gravada como [plantas/{dir}/rev{=##}.svg] anteontem.
? Que desenho mostra as divisões {place}?
M Começava pelo [notas/{dir}/{src}_{=##}.ipynb], onde se vê o gráfico *{chart:das marés|do pólen|das desistências|da carga}*.
? Onde está a curva {chart}?
"""

ID = """
U *{kin}* trocou de operadora e atende agora pelo [9{=## ### ###}], o antigo morreu.
? Como ligo a {kin}?
U Na capitania a *{boat}* está matriculada como [{=@@-####-@@}], pedem sempre isso.
? Que matrícula traz a {boat}?
U *{gear:O contrabaixo|A concertina|A mesa de som|O projetor}* está coberto pela apólice [{=@@/#####/##}], achei a carta.
? Que contrato de seguro cobre: {gear}?
U Na noite da avaria repusemos o *{box}* na [v{=+}.{=#}.{=##}-g{=%%%%%%%}], e ficou.
? Para que versão voltou o {box}?
U O chip do *{pet}* tem o número [{=6########}{=######}], li-o três vezes.
? Que algarismos identificam o {pet} perdido?
M O código que a *{prog}* mostra no teu ecrã é [{=%%%%%%%%-%%%%-4%%%}], o apoio vai pedi-lo.
? Que referência dou ao apoio da {prog}?
M *{book:O romance|O atlas|O guia de aves|O livro de contas}* tem o ISBN [972-{=####-##-#}], qualquer livraria o encontra.
? Com que código encomendo: {book}?
M A encomenda com a prenda de *{kin}* segue como [{=@@#########@@}], pelo correio que colaste.
? Como acompanho o embrulho de {kin}?
"""

URL = """
U Toda a gente se inscreve na *{event}* por [https://{host}.pt/vou/{=??##??}], até o meu avô.
? Onde se confirma presença na {event}?
U Foi [https://guia.{host}.io/{=+##}/{src}] que me fez perceber o *{box}*.
? Que texto explica o {box}?
U *{kin}* transmite os ensaios em [https://{host}.live/canal/{=??????}], sem registo nenhum.
? Onde se assiste aos treinos de {kin}?
U A câmara da *{plot}* responde em [http://{host}.lan:{=8###}/ver], só dentro de casa.
? Como espreito a {plot}?
U Dei sinal pela *{boat}* através de [https://{host}.market/anuncio/{=########}], tenho quinze dias para desistir.
? Onde está à venda a {boat}?
M O que mudou no *{lib}* está em [https://{host}.dev/{=####}/mudancas], a parte chata no fim.
? Onde leio as novidades do {lib}?
M Renova-se *{permit:a licença de pesca|a carta de marinheiro|o lugar de feirante|o cartão de sócio}* em
  [https://balcao.{host}.gov/{=@@-##}] antes do prazo.
? Que página prolonga {permit}?
M Os acordes *{song:da morna|do fado|da chula|da marcha}* vêm em [https://{host}.band/tab/{=+####}], com braçadeira.
? Em que endereço está a cifra {song}?
"""

PERSON = """
U Quem anima a *{event}* é [{given} {family}], com acordeão e tudo, já paguei metade.
? Que artista vai à {event}?
U O *{pet}* vai ser operado por [{given} {family}], e isso sossega-me.
? Quem pega no bisturi pelo {pet}?
U Se o *{box}* cair de madrugada, o telemóvel está com [{given} {family}] até ao verão.
? Quem acordamos por causa do {box}?
U Depois da reorganização respondo a [{given} {family}] na área *{dept:de firmware|de crescimento|de qualidade|de redes}*.
? A que chefia reporto {dept}?
U *{kin}* partilha casa com [{given} {family}], conheceram-se na escalada.
? Com que pessoa vive {kin}?
M O teu remendo para o *{lib}* foi aceite por [{given} {family}], segundo a conversa.
? Quem integrou a minha alteração no {lib}?
M No balcão pergunta por [{given} {family}], que trata *{permit:da licença de pesca|da carta de marinheiro|do lugar de
  feirante|do cartão de sócio}* há anos.
? Que funcionária segue o assunto {permit}?
M No programa que fotografaste, *{piece:o requiem|a cantata|a sinfonia|a zarzuela}* é dirigida por [{given} {family}].
? Que maestro leva {piece}?
"""

DECISION = """
U Vai mesmo ser [a carrinha {colour:mostarda|petróleo|ameixa|ferrugem} de teto {roof:alto|fixo}], pesou o facto de que
  [passa na cancela de 2,{=#} m].
? O que fez pender para a {colour}?
U Na {prog} ficamos [com {lib} em vez de reescrever], já que [{kin} trata dela sozinho até {season}].
? Com que tecnologia segue a {prog}?
U {kin} e eu chegámos a acordo: [a {event} faz-se {venue:no pomar|no quartel|na doca|na adega}], porque
  [{=^#} cadeiras de rodas entram sem degraus].
? Em que recinto acontece a {event}?
U Acabou a discussão, [a {plot} muda de semente em {season}], é que [apodreceu {=^} vezes num mês].
? Que destino tem a {plot}?
U Os registos do {box} ficam [{=+# dias na máquina}], assim [o regulador não tem de assinar].
? Por quanto tempo guardamos rasto do {box}?
M Então [{kin} fica com o quarto {room:de cima|do quintal|do canto|azul}], faz sentido visto que [a {instrument:bateria|
  trompa|tuba} lá não incomoda].
? A quem calha o quarto {room}?
M Em suma, [a {prog} sai sem {feat:modo escuro|modo avião|perfis|alertas}], pela razão de que [só {=^} por cento usaria].
? O que se cortou na {prog}?
M Escolheste [o passe {plan:mensal|família|jovem|flexível} do comboio], com o argumento de que [{kin} viaja {=^} vezes por
  semana].
? Porquê esse título ({plan})?
"""

RULE = """
U O {pet} não prova [uma migalha de {treat:uva|cebola|chocolate|abacate}], que [o fígado já sofre].
? Que comida envenena o {pet}?
U Ninguém toca [no {box} enquanto {kin} apresenta], da outra vez [apagou-se o palco].
? Em que altura deixamos o {box} quieto?
U Agradecia que não [voltasses a propor {lib} na {prog}], a equipa [votou contra por {=^} a um].
? Que ferramenta não sugerir mais na {prog}?
U Haja o que houver, [{secret:a gravidez|o novo emprego|o diagnóstico|o noivado} de {kin} não se conta] antes [da festa de
  {season}].
? Que segredo de {kin} se guarda?
U Retratos {kids:dos miúdos|do coro|dos escuteiros|da equipa} não vão [para lado nenhum público], os pais [só assinaram
  para o álbum].
? O que está vedado com imagens {kids}?
M Convém não [abrir a {plot} abaixo dos {=1# graus}], pois [as mudas gelam em minutos].
? Com que tempo a {plot} permanece fechada?
M Cuidado em não [correr duas vezes o importador da {prog} sobre {unit:o mesmo dia|a mesma pasta|o mesmo lote}], visto que
  [os totais se somam].
? O que não repetir na {prog}?
M É proibido [rebocar {trailer:um atrelado|um jipe|um gerador|uma roulotte} com a {boat}], [aguenta só {=^##} quilos].
? Que carga não puxa a {boat}?
"""

TASK = """
U {kin} está à espera de que eu mande [{doc:o mapa das mesas|o guião|a lista de convidados|o balanço}], coisa para [sair
  {when}].
? O que aguarda {kin}?
U Prometi [levar a {boat} à vistoria] enquanto [a doca tem vaga em {season}].
? Que exame falta à {boat}?
U Há ainda [o certificado da {prog} por renovar], que [caduca {when}].
? O que perde validade na {prog}?
U Esqueço-me sempre de [encomendar {=^#} tabuleiros para a {plot}], e [o viveiro fecha em {season}].
? Que material falta na {plot}?
U Na minha secretária para {when}: [passar a configuração {lib} do {box}] e [apagar o ramo velho].
? Que migração do {box} me cabe?
M Falta-te portanto [o discurso para {kin}], [de {=^} minutos no máximo].
? Que texto para {kin} ainda não existe?
M Ficou em aberto [a questão {feat:do modo escuro|dos perfis|dos alertas} da {prog}], [retoma-se {when}].
? Que tema da {prog} está parado?
M Vais ter de [inscrever o {pet} no hotel] [antes da viagem de {season}].
? O que se trata para o {pet} antes de partir?
"""

REJECTED = """
U Perdemos a vontade [{venue:do pomar|do quartel|da doca|da adega} para a {event}], ao que parece [desligam a música às
  {=2#}].
? O que falhava na {event} ({venue})?
U O {lib} tentava-nos na {prog}, mas [larguei o {lib}] depois [de {=^#} falhas numa tarde].
? Por que motivo a {prog} dispensa {lib}?
U A minha sogra queria que [{kin} estudasse em {city:Évora|Braga|Salamanca|Pádua}] e dissemos que não, [o quarto custa
  {=+##} euros].
? Porque não vai {kin} para {city}?
U Ninguém gostou [da farda {colour:mostarda|petróleo|ameixa|ferrugem} na {event}], [parecíamos {chain:um banco|uma
  companhia aérea|uma hamburgueria}].
? E quanto às roupas {colour}?
U Andei a namorar a ideia de [entregar o {box} a uma empresa], e não, [querem {=^# euros por disco ao mês}].
? Porque não pagamos a ninguém pelo {box}?
M Recusaram [{breed:o siamês|o podengo|a caturra|a chinchila} do canil], porque [{kin} espirra ao lado].
? Que bicho não veio por causa de {kin}?
M [O {lib} dentro do {box}] caiu, sob o argumento de que [come {=^} GB parado].
? O que era guloso de mais para o {box}?
M Em lugar [do passeio {route:do canal|da falésia|da charneca|do vale} com o {pet}], procura outro, há [{=^# cancelas para
  saltar}].
? Porque não andar por ali com o {pet} ({route})?
"""

UPDATE = """
U *{kin}* aterra *{when}* às [{=1#:~5}], lá estarei com um cartaz ridículo.
+ O voo de *{kin}* atrasou-se, *{when}* a chegada é às [{=2#:~5}] no mesmo terminal.
? A que horas busco {kin} ao aeroporto?
U A *{prog}* guarda as *sessões* durante [{=+## dias}], nunca ninguém se queixou.
+ Os juristas acordaram: as *sessões* da *{prog}* vivem [{=+## dias}] no máximo.
? Quanto dura o acesso na {prog}?
U O lugar *{fair:na feira da primavera|no mercado noturno|no salão do livro|na festa da vila}* sai-nos a [{=+## €}] com luz.
+ Há tabela nova *{fair}*, a nós pedem [{=+## €}].
? Que valor se paga por estar {fair}?
U O *wifi* {place:do moinho|do sótão|da barcaça|do clube} abre com [{=???##???}], tudo em minúsculas.
+ Alguém repôs o router, o *wifi* {place} quer [{=???##???}] por estes dias.
? Como me ligo à rede {place}?
U Na *{event}* sentamos [{=5# convidados}], apertados mas cabem.
+ Com as respostas do fim de semana a *{event}* sobe para [{=8# convidados}], socorro.
? Que lotação tem a {event}?
U Dei ao *{box}* [{=1# GB}] de *memória*, a placa não aceita mais.
+ Apareceu um módulo na gaveta, o *{box}* tem [{=3# GB}] de *memória* desde ontem.
? Que RAM há no {box}?
M Pelo que dizes, a *{prog}* conta com [{=^}.{=+## euros}] para *alojamento*.
+ Visto o corte, para o *alojamento* da *{prog}* sobram [{=^}.{=+## euros}] e nem mais um cêntimo.
? Que verba tem o servidor da {prog}?
M Com esse peso o *{pet}* deve tomar [{=1## ml}] de *xarope* duas vezes ao dia.
+ À luz das análises, passa o *xarope* do *{pet}* a [{=^# ml}] duas vezes ao dia.
? Que dose cabe ao {pet}?
M Para a *{event}*, a *licença de ruído* que anexaste fala em [{=1#:~5}] como fim da música.
+ A câmara reviu a *licença de ruído*: na *{event}* a música pára às [{=2#:~5}].
? Até quando se pode tocar na {event}?
M Na tua lista, a *{boat}* leva [{=1# coletes}] a bordo, contei-os.
+ Com a lei nova a *{boat}* precisa de [{=2# coletes}] a bordo.
? Que quantidade de salva-vidas tem a {boat}?
"""
