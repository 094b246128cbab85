package i18n

// The mails about somebody's own account.
var _ = register(words{
	"member.subject": Text{"Seu acesso ao Ciclo na {organisation}", "Your access to Ciclo at {organisation}"},
	"member.label":   Text{"Convite para entrar", "Invitation to sign in"},
	"member.heading": Text{"{name}, crie a sua senha", "{name}, choose your password"},
	"member.button":  Text{"Criar minha senha", "Choose my password"},
	"member.preview": Count{
		One:  Text{"O link vale por um dia e pode ser usado uma vez.", "The link works for a day and can be used once."},
		Many: Text{"O link vale por {n} dias e pode ser usado uma vez.", "The link works for {n} days and can be used once."},
	},
	"member.lead":    Text{"Você tem uma conta no Ciclo, onde a {organisation} faz as suas avaliações de desempenho. Para entrar, crie uma senha.", "You have an account in Ciclo, where {organisation} runs its performance reviews. To sign in, choose a password."},
	"member.lead_by": Text{"{actor} abriu uma conta para você no Ciclo, onde a {organisation} faz as suas avaliações de desempenho. Para entrar, crie uma senha.", "{actor} opened an account for you in Ciclo, where {organisation} runs its performance reviews. To sign in, choose a password."},
	"member.keep": Count{
		One:  Text{"O link é só seu, vale por um dia e funciona uma vez: não encaminhe este e-mail. Se ele vencer, use “Esqueci a senha” na página de entrada.", "The link is yours alone, lasts a day and works once: do not forward this e-mail. If it runs out, use “I forgot my password” on the sign-in page."},
		Many: Text{"O link é só seu, vale por {n} dias e funciona uma vez: não encaminhe este e-mail. Se ele vencer, use “Esqueci a senha” na página de entrada.", "The link is yours alone, lasts {n} days and works once: do not forward this e-mail. If it runs out, use “I forgot my password” on the sign-in page."},
	},
	"member.why": Text{"Você recebeu esta mensagem porque o seu endereço está no cadastro da {organisation}.", "You received this message because your address is on file at {organisation}."},

	"reset.subject": Text{"Criar uma nova senha no Ciclo", "Choose a new password for Ciclo"},
	"reset.label":   Text{"Nova senha", "New password"},
	"reset.heading": Text{"{name}, crie uma nova senha", "{name}, choose a new password"},
	"reset.button":  Text{"Criar nova senha", "Choose a new password"},
	"reset.preview": Text{"O link vale por {n} minutos e pode ser usado uma vez.", "The link works for {n} minutes and can be used once."},
	"reset.lead":    Text{"Alguém pediu, na página de entrada, um link para criar uma nova senha para esta conta.", "Somebody asked, on the sign-in page, for a link to choose a new password for this account."},
	"reset.not_you": Text{"Não foi você? Não faça nada: a senha de agora continua valendo.", "Was it not you? Do nothing: the present password stays good."},
	"reset.keep":    Text{"O link é só seu, vale por {n} minutos e funciona uma vez: não encaminhe este e-mail. Quando a senha muda, todas as sessões abertas terminam.", "The link is yours alone, lasts {n} minutes and works once: do not forward this e-mail. When the password changes, every open session ends."},
	"reset.why":     Text{"Você recebeu esta mensagem porque o seu endereço foi digitado em “Esqueci a senha”.", "You received this message because your address was typed into “I forgot my password”."},

	"moved.subject": Text{"Seu endereço no Ciclo mudou", "Your address in Ciclo has changed"},
	"moved.label":   Text{"Endereço alterado", "Address changed"},
	"moved.heading": Text{"{name}, o seu endereço mudou", "{name}, your address has changed"},
	"moved.preview": Text{"As próximas mensagens vão para outro endereço.", "The next messages go to another address."},
	"moved.lead":    Text{"O RH da {organisation} pôs outro endereço no seu cadastro. As próximas mensagens do Ciclo vão para ele, e os links que chegaram aqui deixaram de valer.", "HR at {organisation} put another address on your record. The next messages from Ciclo go there, and the links that came here work no more."},
	"moved.not_you": Text{"Isto não deveria ter acontecido? Avise o RH agora, respondendo a este e-mail.", "Should this not have happened? Tell HR now, by replying to this e-mail."},
	"moved.why":     Text{"Você recebeu esta mensagem porque este era o seu endereço no cadastro da {organisation}. É a última que vem para cá.", "You received this message because this was your address on file at {organisation}. It is the last one that comes here."},

	"moved_hr.subject":  Text{"O endereço de {person} mudou", "The address of {person} has changed"},
	"moved_hr.label":    Text{"Endereço alterado", "Address changed"},
	"moved_hr.heading":  Text{"O endereço de {person} mudou", "The address of {person} has changed"},
	"moved_hr.preview":  Text{"Confira se a troca está certa.", "Check that the change is right."},
	"moved_hr.lead":     Text{"{actor} pôs {address} no cadastro de {person}.", "{actor} put {address} on the record of {person}."},
	"moved_hr.text":     Text{"O endereço antigo foi avisado e os links que podem ter chegado a ele deixaram de valer. A auditoria guarda a troca.", "The old address was told, and the links that may have reached it work no more. The audit keeps the change."},
	"moved_hr.why":      Text{"Você recebeu esta mensagem porque tem a função de gestão de RH no Ciclo.", "You received this message because you are an HR manager in Ciclo."},
	"moved_hr.operator": Text{"Quem opera o sistema", "Whoever runs the system"},

	"moved_many.subject": Text{"Uma importação mudou endereços", "An import changed addresses"},
	"moved_many.label":   Text{"Endereços alterados", "Addresses changed"},
	"moved_many.heading": Text{"Uma importação mudou endereços", "An import changed addresses"},
	"moved_many.lead": Count{
		One:  Text{"{actor} importou um arquivo que trocou o endereço de uma pessoa.", "{actor} imported a file that changed one person’s address."},
		Many: Text{"{actor} importou um arquivo que trocou o endereço de {n} pessoas.", "{actor} imported a file that changed the addresses of {n} people."},
	},

	"test_message.subject": Text{"Mensagem de teste do Ciclo", "Test message from Ciclo"},
	"test_message.label":   Text{"Mensagem de teste", "Test message"},
	"test_message.heading": Text{"{name}, o envio funciona", "{name}, sending works"},
	"test_message.preview": Text{"É assim que as mensagens chegam.", "This is how messages arrive."},
	"test_message.lead":    Text{"É assim que as mensagens da {organisation} chegam: confira o remetente, e responda para ver a quem a resposta vai.", "This is how messages of {organisation} arrive: check the sender, and reply to see where the reply goes."},
	"test_message.why":     Text{"Você recebeu esta mensagem porque a pediu nas configurações.", "You received this message because you asked for it in the settings."},
})
