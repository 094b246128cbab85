package appraisal

// ReadyForm is a form that every organisation starts with.
type ReadyForm struct {
	Code    string
	Content FormContent
}

// ReadyForms are ready to use as they are, and to copy from.
func ReadyForms() []ReadyForm {
	return []ReadyForm{
		{Code: "competencias-e-metas", Content: competencesAndGoals()},
		{Code: "experiencia", Content: probation()},
	}
}

func competencesAndGoals() FormContent {
	competences := Text{"Competências", "Competences"}
	goals := Text{"Metas", "Goals"}
	next := Text{"Próximos passos", "Next steps"}
	return FormContent{
		Title: Text{"Competências e Metas", "Competences and Goals"},
		Intro: Text{
			"Pense no período todo, e não só nas últimas semanas. Baseie cada nota em fatos que a pessoa avaliada reconheça.",
			"Think of the whole period, not just of the last weeks. Base each rating on facts that the person under review would recognise.",
		},
		Scale: Scale{Min: 1, Max: 5, Labels: []Text{
			{"Abaixo do esperado", "Below expectations"},
			{"Perto do esperado", "Close to expectations"},
			{"Dentro do esperado", "Meets expectations"},
			{"Acima do esperado", "Above expectations"},
			{"Muito acima do esperado", "Far above expectations"},
		}},
		Questions: []Question{
			{
				ID: "qualidade", Kind: QuestionRating, Section: competences, Required: true, Weight: 25, Comment: true, AllowNA: true,
				Text: Text{"Trabalha com qualidade e segurança", "Works well and safely"},
				Help: Text{
					"Considere erros e retrabalho, o cuidado com equipamentos e informações, e o respeito às normas de segurança.",
					"Consider mistakes and rework, care for equipment and information, and respect for safety rules.",
				},
			},
			{
				ID: "comunicacao", Kind: QuestionRating, Section: competences, Required: true, Weight: 25, Comment: true, AllowNA: true,
				Text: Text{"Comunica problemas a tempo", "Reports problems in time"},
				Help: Text{
					"Atrasos, defeitos e riscos chegam a quem precisa agir, antes de virarem prejuízo.",
					"Delays, defects and risks reach whoever must act before they do harm.",
				},
			},
			{
				ID: "colaboracao", Kind: QuestionRating, Section: competences, Required: true, Weight: 20, Comment: true, AllowNA: true,
				Text: Text{"Colabora com colegas e com outras áreas", "Works well with colleagues and other departments"},
				Help: Text{
					"Ajuda quando pedem, cumpre o que combina e trata a todos com respeito.",
					"Helps when asked, keeps agreements and treats everybody with respect.",
				},
			},
			{
				ID: "metas", Kind: QuestionRating, Section: goals, Required: true, Weight: 30, Comment: true, AllowNA: true,
				Text: Text{"Alcançou as metas combinadas para o período", "Reached the goals agreed for the period"},
				Help: Text{
					"Compare o que foi combinado com o resultado. O que não dependia da pessoa não entra na conta.",
					"Compare what was agreed with the outcome. What was not in the person's hands does not count.",
				},
			},
			{
				ID: "proximo-passo", Kind: QuestionChoice, Section: next, Required: true, AllowNA: true,
				Text: Text{"Qual é o próximo passo mais útil para a pessoa avaliada?", "What is the most useful next step for the person under review?"},
				Help: Text{"Não entra na nota.", "It does not count towards the score."},
				Options: []Option{
					{"aprofundar", Text{"Aprofundar-se no trabalho atual", "Grow in the present job"}},
					{"ampliar", Text{"Assumir tarefas mais complexas", "Take on more complex work"}},
					{"apoio", Text{"Receber treinamento ou acompanhamento", "Receive training or support"}},
					{"mudar", Text{"Mudar de função ou de área", "Move to another job or department"}},
				},
			},
			{
				ID: "comentario", Kind: QuestionText, Section: next,
				Text: Text{"O que a pessoa avaliada deveria continuar fazendo, e o que deveria mudar?", "What should the person under review go on doing, and what should change?"},
				Help: Text{"Só comentário, não entra na nota. Dê um exemplo que ela reconheça.", "Comment only, it does not count towards the score. Give an example the person would recognise."},
			},
		},
	}
}

func probation() FormContent {
	adaptation := Text{"Adaptação", "Settling in"}
	work := Text{"Trabalho", "Work"}
	decision := Text{"Recomendação", "Recommendation"}
	return FormContent{
		Title: Text{"Avaliação de Experiência", "Probation Review"},
		Intro: Text{
			"Para os primeiros 45 ou 90 dias. Avalie o que já se pode esperar de quem acabou de chegar, e não de quem está há anos na função.",
			"For the first 45 or 90 days. Judge what can be expected of somebody who has just arrived, not of somebody with years in the job.",
		},
		Scale: Scale{Min: 1, Max: 4, Labels: []Text{
			{"Não atende", "Does not meet it"},
			{"Atende em parte", "Meets it in part"},
			{"Atende", "Meets it"},
			{"Supera", "Exceeds it"},
		}},
		Questions: []Question{
			{
				ID: "integracao", Kind: QuestionRating, Section: adaptation, Required: true, Comment: true, AllowNA: true,
				Text: Text{"Integra-se à equipe e à rotina", "Fits into the team and its routine"},
				Help: Text{"Relação com colegas, pontualidade e presença.", "Relations with colleagues, punctuality and attendance."},
			},
			{
				ID: "aprendizado", Kind: QuestionRating, Section: adaptation, Required: true, Comment: true, AllowNA: true,
				Text: Text{"Aprende o trabalho no ritmo esperado", "Learns the job at the expected pace"},
				Help: Text{"Pergunta quando não sabe, guarda o que aprende e não repete o mesmo erro.", "Asks when unsure, remembers what was taught and does not repeat a mistake."},
			},
			{
				ID: "execucao", Kind: QuestionRating, Section: work, Required: true, Comment: true, AllowNA: true,
				Text: Text{"Executa as tarefas com qualidade", "Does the tasks well"},
				Help: Text{"Compare com o que foi explicado na admissão.", "Compare with what was explained on joining."},
			},
			{
				ID: "normas", Kind: QuestionRating, Section: work, Required: true, Comment: true, AllowNA: true,
				Text: Text{"Cumpre as normas de segurança e de conduta", "Follows the rules of safety and conduct"},
				Help: Text{"Uso de equipamentos de proteção, cuidado com informações, respeito às pessoas.", "Use of protective equipment, care for information, respect for people."},
			},
			{
				ID: "recomendacao", Kind: QuestionChoice, Section: decision, Required: true,
				Text: Text{"O que você recomenda ao fim deste período?", "What do you recommend at the end of this period?"},
				Options: []Option{
					{"efetivar", Text{"Efetivar", "Confirm in the job"}},
					{"prorrogar", Text{"Prorrogar a experiência até 90 dias", "Extend the probation up to 90 days"}},
					{"encerrar", Text{"Encerrar o contrato ao fim da experiência", "End the contract with the probation"}},
				},
			},
			{
				ID: "motivo", Kind: QuestionText, Section: decision, Required: true,
				Text: Text{"Por que você recomenda isso?", "Why do you recommend that?"},
				Help: Text{"Cite fatos. O RH lê este texto antes de decidir com você.", "State facts. HR reads this before deciding with you."},
			},
		},
	}
}
