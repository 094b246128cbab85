package i18n

// The directory, and the files that fill it.
var _ = register(words{
	"people.address_known":             Text{"já é de {name}, matrícula {code}. Corrija o endereço, ou a matrícula se for a mesma pessoa.", "already belongs to {name}, employee code {code}. Correct the address, or the code if it is the same person."},
	"people.manager_unknown":           Text{"não está no arquivo nem no cadastro. Corrija, ou ponha essa pessoa no arquivo.", "is neither in the file nor in the directory. Correct it, or add that person to the file."},
	"people.manager_ambiguous":         Text{"{n} pessoas têm esse nome. Use o e-mail ou a matrícula.", "{n} people bear this name. Use the address or the employee code."},
	"people.manager_rejected":          Text{"está na linha {line}, que foi rejeitada. Corrija aquela linha primeiro.", "is in line {line}, which was rejected. Correct that line first."},
	"people.left_before_known_hired":   Text{"é antes da admissão no cadastro, {hired}. Corrija uma das duas.", "is before the hire date on record, {hired}. Correct one of them."},
	"people.hired_after_known_left":    Text{"é depois do desligamento no cadastro, {left}. Corrija uma das duas.", "is after the leave date on record, {left}. Correct one of them."},
	"people.leaves_oneself":            Text{"é você. Peça a outro admin.", "is you. Ask another admin."},
	"people.has_a_role":                Text{"{name} tem um papel no sistema. Só um admin muda isto.", "{name} has a role in the system. Only an admin changes this."},
	"people.code_taken_meanwhile":      Text{"foi cadastrada depois da conferência, com {name}. Use outra matrícula, ou confirme de novo para atualizar essa pessoa.", "was taken after the preview, by {name}. Use another code, or confirm again to update that person."},
	"people.code_gone_meanwhile":       Text{"já não é da mesma pessoa que na conferência. Envie o arquivo de novo.", "no longer belongs to the person of the preview. Send the file again."},
	"people.manager_changed_meanwhile": Text{"era {then} na conferência e agora é {now}. Use a matrícula, ou confirme de novo.", "was {then} in the preview and is {now} now. Use the employee code, or confirm again."},

	"people.import_stale":        Text{"Nada foi importado. A linha {line} já não entra como estava na conferência. {what}", "Nothing was imported. Line {line} can no longer go in as the preview showed it. {what}"},
	"people.import_done":         Text{"“{file}” já foi importado, em {when}. Nada foi feito de novo.", "“{file}” was already imported, on {when}. Nothing was done again."},
	"people.import_gone":         Text{"Este envio não existe, ou já passou de 24 horas. Envie o arquivo de novo.", "This upload does not exist, or is over 24 hours old. Send the file again."},
	"people.import_not_compared": Text{"As colunas de “{file}” ainda não foram conferidas. Confira-as primeiro.", "The columns of “{file}” have not been checked yet. Check them first."},
	"people.import_nothing":      Text{"“{file}” não tem linha nova nem alterada. Não há o que importar.", "“{file}” has no new or changed line. There is nothing to import."},
	"people.last_admin":          Text{"A organização ficaria sem nenhum admin. Nada foi importado. Deixe pelo menos um.", "The organisation would be left without an admin. Nothing was imported. Leave at least one."},
	"people.date_order_required": Text{"As datas do arquivo podem ser dia/mês ou mês/dia. Diga qual das duas.", "The dates of the file can be day/month or month/day. Say which of the two."},
	"intake.busy":                Text{"Outros {n} arquivos estão sendo lidos agora. Envie o seu de novo em um minuto.", "{n} other files are being read right now. Send yours again in a minute."},

	"person.code_taken":      Text{"Outra pessoa já tem esta matrícula.", "Somebody else has this employee code."},
	"person.email_taken":     Text{"Outra pessoa já tem este e-mail.", "Somebody else has this address."},
	"person.email_malformed": Text{"Isto não é um endereço de e-mail. Use algo como nome@empresa.com.br.", "This is not an email address. Use something like name@company.com."},
	"tenant.name_taken":      Text{"Já há uma organização com esse nome.", "There is already an organisation of that name."},
	"tenant.name_length":     Text{"O nome da organização precisa de 1 a {max} caracteres.", "The name of the organisation needs 1 to {max} characters."},
	"tenant.zone_unknown":    Text{"“{zone}” não é um fuso horário. Use um nome como America/Sao_Paulo.", "“{zone}” is no time zone. Use a name such as America/Sao_Paulo."},
	"tenant.unnamed":         Text{"Não há organização com o nome “{name}”.", "There is no organisation named “{name}”."},
	"tenant.unknown":         Text{"Não há organização com o número {id}.", "There is no organisation number {id}."},
})
