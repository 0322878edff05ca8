"""Portuguese small talk of the third profile: the text around the facts. None of it is scored."""

TALK = """
Escrevo do cais, com {noise:as gaivotas|o sino|o altifalante} a mandar na conversa.
O café desta máquina devia vir com um aviso.
{kin} ensinou-me um jogo de dados, perdi {=^#} rodadas seguidas.
Havia neblina no rio, parecia um postal.
A caixa de correio diz {=+##} por ler e eu finjo que não vejo.
A sopa ficou boa para colar azulejos.
Alguém aqueceu sardinhas na copa, estamos todos de luto.
Ando atrasado em tudo, mas bem-disposto.
O cão da vizinha canta com {thing:a carrinha do pão|a sirene|o rádio}.
O ensaio acabou tarde, ainda tenho os ouvidos a zumbir.
Arrumei a despensa em vez dos impostos, como manda a tradição.
{kin} jura ter visto {bird:um guarda-rios|uma garça|um milhafre}, sem provas.
Passei {=^#} minutos à procura de uma vírgula.
No prédio cheira a tinta e ninguém sabe porquê.
O caderno caiu no lava-loiça, ando a reconstruir a memória.
Expliquei outra vez ao meu pai o que é um separador.
Vivemos dos restos da festa, sobretudo azeitonas.
Ao que parece durmo com dois despertadores e um simulacro.
Os miúdos fizeram uma cabana com as almofadas todas.
Metade da banda está com gripe, a outra metade disfarça.
No intervalo sentei-me num banco a ver brigar os patos.
É a época em que compro sementes e não as semeio.
Uma cliente mandou-nos um poema, e rima.
No meu portátil os testes passam, e sabe-se que é isso que conta.
Chuva na tenda, chá do termo, há pior.
O elevador está parado há {=^} semanas, tenho pernas de ciclista.
Chegou o sofá, não passa na porta, ninguém se riu.
Despejo aqui o que tenho na cabeça antes que fuja.
O comboio parou no meio do nada e ninguém se espantou.
Fiz pão, saiu um tijolo com personalidade.
O gato do terceiro andar adotou-me sem perguntar.
Comprei um guarda-chuva e o céu abriu logo a seguir.
"""

ASK = """
Convence-te?
Vês alguma armadilha?
Passamos isto a limpo juntos?
Dás-lhe uma volta?
É tolice por esta ordem?
Por que ponta começavas?
Diz-me a verdade.
"""

REPLY = """
Bem, com isto já consigo trabalhar.
Partia do que está a travar os outros.
Isso pode esperar por um dia mais calmo.
Nove em cada dez vezes é o transformador.
Um ensaio sem público diz mais do que qualquer plano.
Se as instruções se contradizem, confia na folha nova.
As plantas, como as pessoas, não gostam de pressa.
Podes dividir, um bocado para ti e outro para {kin}.
Escrever o teste antes de mexer ajuda bastante.
Uma pitada de sal puxa pelo doce, por estranho que pareça.
Guarda os recibos num envelope, vais agradecer.
É questão de gosto e o teu serve-me.
A documentação cala-se, uma experiência curta é o caminho mais rápido.
Deixa arrefecer {=^#} minutos antes de cortar.
Um convidado útil é um convidado feliz, distribui tarefas.
Não vai sair perfeito e não precisa.
O ruído será um rolamento, custam pouco.
O que tem mais de {=^} anos pode ir para o sótão.
Experimentava também a reposição, uma cópia nunca aberta é só esperança.
Abaixo dos {=^} anos costuma ser de graça, mas pergunta.
Uma só consulta lenta torna a página toda pesada.
A gravilha escoa melhor do que se pensa.
O instinto está certo, a segunda hipótese arrisca menos.
As coisas pesadas em baixo e as frágeis ao colo.
Ninguém te obriga a responder a todos hoje.
Às vezes o arranjo mais barato é um autocolante.
À noite as cores mudam.
Se depois chiar, basta uma gota de óleo.
Põe-no antes como pergunta.
Mede outra vez antes de furar, as paredes nunca são direitas.
Dorme sobre o assunto, a proposta não foge.
"""

DECOYS = """
E se fossem {=+##}, só por brincadeira, encolhias os ombros na mesma?
No romance o herói esconde {=+###} moedas em core/{pkg}/{src}.go:{=+##}, ou quase.
Imagina um estádio com {=^#}.000 pessoas a trautear, era assim.
Se um desconhecido te desse {=^##} euros pela bicicleta, também dizias que não?
Como modelo serviria «{given} {family}, mesa {=^}», só pela paginação.
Ligações do género https://sample.invalid/{=???###} cheiram-me sempre a esturro.
"""

OPENERS = """
Pensando bem,
Visto de fora,
Cá entre nós,
Pela minha parte,
"""
