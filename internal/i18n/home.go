package i18n

// The first page: what needs me now.
var _ = register(words{
	"home.title": Text{"O que precisa de você", "What needs you"},
	"home.items": Count{
		Zero: Text{"Nada espera por você", "Nothing waits for you"},
		One:  Text{"1 item", "1 item"},
		Many: Text{"{n} itens", "{n} items"},
	},
	"home.now":          Text{"Agora", "Now"},
	"home.nothing":      Text{"Nada precisa de você agora", "Nothing needs you now"},
	"home.nothing_text": Text{"Quando houver uma avaliação a fazer ou uma mensagem que falhou, ela aparece aqui.", "When there is a review to do or a message that failed, it appears here."},
	"home.failed": Count{
		One:  Text{"1 mensagem falhou", "1 message failed"},
		Many: Text{"{n} mensagens falharam", "{n} messages failed"},
	},
	"home.failed_text": Text{"Veja o motivo, corrija o endereço e envie de novo", "See why, correct the address and send again"},
	"home.asking":      Count{One: Text{"1 pessoa pede mais prazo", "1 person asks for more time"}, Many: Text{"{n} pessoas pedem mais prazo", "{n} people ask for more time"}},
	"home.failed_chip": Text{"Precisa de atenção", "Needs attention"},
	"home.reviews": Count{
		One:  Text{"Suas avaliações: 1 de {all} por enviar", "Your reviews: 1 of {all} to submit"},
		Many: Text{"Suas avaliações: {n} de {all} por enviar", "Your reviews: {n} of {all} to submit"},
	},
	"home.due":             Text{"Prazo: {when}", "Deadline: {when}"},
	"home.overdue":         Text{"Em atraso", "Overdue"},
	"home.to_do_chip":      Text{"A fazer", "To do"},
	"home.cycles":          Text{"Ciclos em curso", "Cycles under way"},
	"home.no_cycles":       Text{"Nenhum ciclo em curso", "No cycle under way"},
	"home.no_cycles_text":  Text{"Crie um ciclo, monte o mapa de avaliadores e simule. Ninguém recebe nada antes da ativação.", "Create a cycle, build the reviewer map and rehearse. Nobody receives anything before activation."},
	"home.new_cycle":       Text{"Novo ciclo", "New cycle"},
	"home.state_active":    Text{"Ativo", "Active"},
	"home.state_draft":     Text{"Rascunho", "Draft"},
	"home.submitted_title": Text{"Avaliações enviadas", "Reviews submitted"},
	"home.of":              Text{"{n} de {all}", "{n} of {all}"},
	"home.submitted":       Count{Zero: Text{"enviadas", "submitted"}, One: Text{"enviada", "submitted"}, Many: Text{"enviadas", "submitted"}},
	"home.blocked":         Count{One: Text{"1 impedimento à ativação", "1 blocker to the activation"}, Many: Text{"{n} impedimentos à ativação", "{n} blockers to the activation"}},
	"home.ready":           Text{"Nada impede a ativação", "Nothing stands against the activation"},
	"home.rehearse":        Text{"Ver simulação", "See the rehearsal"},
	"home.started":         Text{"em andamento", "in progress"},
	"home.to_do":           Text{"a fazer", "to do"},
	"home.declined":        Count{One: Text{"recusada", "declined"}, Many: Text{"recusadas", "declined"}},
	"home.pairs": Count{
		Zero: Text{"O mapa de avaliadores está vazio", "The reviewer map is empty"},
		One:  Text{"1 avaliação prevista", "1 planned review"},
		Many: Text{"{n} avaliações previstas", "{n} planned reviews"},
	},
})
