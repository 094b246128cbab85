package store

import (
	"slices"
	"strconv"
	"strings"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
)

// What a line of a people file can leave open.
const (
	AskZeros   = "zeros"   // the code is somebody's, but for leading zeros
	AskAddress = "address" // the address is somebody's, under another code
	AskManager = "manager" // the name is several people's
)

// What can be answered, beside a person: "same:" with their number, or "boss:"
// with their code.
const (
	AnswerNew     = "new"     // somebody new
	AnswerWithout = "without" // the line goes in without that value
	AnswerOut     = "out"     // the line stays out

	answerSame = "same:"
	answerBoss = "boss:"
)

// mostAnswers is how many people a question offers; a name that more bear is refused.
const mostAnswers = 10

// Question is something that a line leaves open and a person decides.
type Question struct {
	Kind    string   `json:"kind"`
	Column  string   `json:"column"`
	Value   string   `json:"value"`
	Answers []Answer `json:"answers"`
}

// Answer is one way to decide. Code and Name say whom it is about.
type Answer struct {
	Value      string `json:"value"`
	Name       string `json:"name,omitempty"`
	Code       string `json:"code,omitempty"`
	Department string `json:"department,omitempty"`
	Likely     bool   `json:"likely,omitempty"` // name or address agree
}

// allows reports whether value is one of the answers.
func (q Question) allows(value string) bool {
	for _, a := range q.Answers {
		if a.Value == value {
			return true
		}
	}
	return false
}

// undecided is why a line stays out while the question is open.
func (q Question) undecided() fault.Message {
	who := q.Answers[0]
	switch q.Kind {
	case AskZeros:
		return fault.Msg("people.zeros_undecided", "name", who.Name, "code", who.Code)
	case AskAddress:
		return fault.Msg("people.address_known", "name", who.Name, "code", who.Code)
	}
	people := 0
	for _, a := range q.Answers {
		if strings.HasPrefix(a.Value, answerBoss) {
			people++
		}
	}
	return fault.Msg("people.manager_ambiguous", "n", people)
}

// ask puts a question about a line and gives what was answered: nothing while it
// is open, or where the answer keeps the line out.
func (c *comparison) ask(l *PeopleLine, f intake.Field, kind, value string, answers []Answer) string {
	column := c.column[f]
	if column == "" {
		column = string(f)
	}
	q := Question{Kind: kind, Column: column, Value: value, Answers: append(answers, Answer{Value: AnswerOut})}
	l.Questions = append(l.Questions, q)
	said := l.Choices[kind]
	switch {
	case said == AnswerOut:
		c.refuse(l, f, value, "people.left_out_by_choice")
	case q.allows(said):
		l.settled[kind] = said
		return said
	case c.by.Absent:
		l.Problems = append(l.Problems, intake.Problem{Field: f, Column: column, Value: value, Why: q.undecided()})
	default:
		l.open[kind] = true
	}
	return ""
}

// matchBare asks about a code that is somebody's once its leading zeros are
// restored: spreadsheets take them away. Who has a line under their full code is
// not meant.
func (c *comparison) matchBare(i int) {
	l := c.lines[i]
	bare := c.bareCodes[intake.BareCode(l.Row.Code)]
	if l.Row.Code == "" || l.PersonID != 0 || l.dead() || len(bare) == 0 {
		return
	}
	var answers []Answer
	for _, id := range bare {
		p := c.known[id]
		if _, theirs := c.lineOf[id]; theirs && l.Choices[AskZeros] != answerSame+strconv.FormatInt(id, 10) || len(answers) == mostAnswers {
			continue
		}
		likely := intake.FoldName(p.Name) == intake.FoldName(l.Row.Name) || p.Email != "" && strings.EqualFold(p.Email, said(l.Row.Email))
		answers = append(answers, p.answer(likely))
		if likely && c.by.Absent {
			l.note(NoteZeros)
			c.claim(i, id)
			return
		}
	}
	if len(answers) == 0 {
		l.note(NoteAlike)
		l.settled[AskZeros] = AnswerNew
		return
	}
	l.note(NoteZeros)
	switch answer := c.ask(l, intake.EmployeeCode, AskZeros, l.Row.Code, append(answers, Answer{Value: AnswerNew})); {
	case answer == AnswerNew:
		l.Notes = nil
		l.note(NoteAlike)
	case answer != "":
		c.claim(i, personOf(answer))
	}
}

func (p *knownPerson) answer(likely bool) Answer {
	return Answer{Value: answerSame + strconv.FormatInt(p.ID, 10), Name: p.Name, Code: p.Code, Department: p.Department, Likely: likely}
}

// personOf is whom an answer means; it has been offered, so it is a number.
func personOf(answer string) int64 {
	id, _ := strconv.ParseInt(strings.TrimPrefix(answer, answerSame), 10, 64)
	return id
}

// judgeAddress asks about an address that is somebody else's in the records: the
// same person under a new code, or a line that goes in without it.
func (c *comparison) judgeAddress(i int) {
	l := c.lines[i]
	id, taken := c.emails[strings.ToLower(said(l.Row.Email))]
	if !taken || id == l.PersonID || l.Row.Code == "" || len(l.open) > 0 || l.dead() {
		return
	}
	owner := c.known[id]
	var answers []Answer
	if _, theirs := c.lineOf[id]; !theirs && l.PersonID == 0 {
		answers = append(answers, owner.answer(intake.FoldName(owner.Name) == intake.FoldName(l.Row.Name)))
	}
	answers = append(answers, Answer{Value: AnswerWithout, Name: owner.Name, Code: owner.Code})
	l.note(NoteAddressKnown)
	switch answer := c.ask(l, intake.Email, AskAddress, said(l.Row.Email), answers); answer {
	case "":
	case AnswerWithout:
		l.Row.Email = nil
	default:
		c.claim(i, id)
	}
}

// recodes reports whether somebody in the records gets the code of the line:
// they were recognised by their address.
func (c *comparison) recodes(l *PeopleLine) bool {
	return l.PersonID != 0 && strings.HasPrefix(l.settled[AskAddress], answerSame)
}

// codeAfter is the code that somebody in the records has once all is stored.
func (c *comparison) codeAfter(p *knownPerson) string {
	if i, there := c.lineOf[p.ID]; there && !c.lines[i].dead() && c.recodes(c.lines[i]) {
		return c.lines[i].Row.Code
	}
	return p.Code
}

// forget takes a question back.
func (l *PeopleLine) forget(kind string) {
	l.Questions = slices.DeleteFunc(l.Questions, func(q Question) bool { return q.Kind == kind })
	delete(l.open, kind)
}

// meant reports whether the one person that a name fits is whom a person chose,
// where they had to.
func (c *comparison) meant(l *PeopleLine, s somebody) bool {
	code, chosen := strings.CutPrefix(l.Choices[AskManager], answerBoss)
	return !chosen || code == c.codeOf(s)
}

// codeOf is somebody's code once all is stored.
func (c *comparison) codeOf(s somebody) string {
	if p := c.known[s.id]; p != nil {
		return c.codeAfter(p)
	}
	return c.lines[s.line].Row.Code
}

// askManager asks which of several people of one name is meant.
func (c *comparison) askManager(l *PeopleLine, name string, found []somebody) (somebody, bool) {
	if len(found) > mostAnswers {
		c.refuse(l, intake.Manager, name, "people.manager_ambiguous", "n", len(found))
		return somebody{}, false
	}
	answers := make([]Answer, 0, len(found)+1)
	byCode := map[string]somebody{}
	for _, s := range found {
		a := Answer{Code: c.codeOf(s)}
		if p := c.known[s.id]; p != nil {
			a.Name, a.Department = p.Name, p.Department
		}
		if s.line >= 0 {
			row := c.lines[s.line].Row
			a.Name = row.Name
			if row.Department != nil {
				a.Department = *row.Department
			}
		}
		a.Value = answerBoss + a.Code
		byCode[a.Value] = s
		answers = append(answers, a)
	}
	switch answer := c.ask(l, intake.Manager, AskManager, name, append(answers, Answer{Value: AnswerWithout})); answer {
	case "":
	case AnswerWithout:
		l.Row.Manager = nil
	default:
		return byCode[answer], true
	}
	return somebody{}, false
}

// openProblem is what a line that is open now would be refused for.
func (l *PeopleLine) openProblem() intake.Problem {
	for _, q := range l.Questions {
		if l.open[q.Kind] {
			return intake.Problem{Column: q.Column, Value: q.Value, Why: q.undecided()}
		}
	}
	return intake.Problem{}
}
