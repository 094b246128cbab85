package store

import (
	"ciclo/internal/fault"
	"ciclo/internal/intake"
)

// parsesAtOnce is how many files this process reads at the same time: a file of
// 10 MB takes some hundred while it is taken apart.
const parsesAtOnce = 2

var parses = make(chan struct{}, parsesAtOnce)

// takeParse takes one of the turns to read a file, or answers Busy. The caller
// gives it back.
func takeParse() (giveBack func(), err error) {
	select {
	case parses <- struct{}{}:
		return func() { <-parses }, nil
	default:
		return nil, fault.New(fault.Busy, "intake.busy", "n", parsesAtOnce)
	}
}

// ReadFile understands a file that a person brings, as intake.Read does, when
// it is this file's turn; Busy when others are being read.
func ReadFile(name string, body []byte) (*intake.Sheet, error) {
	giveBack, err := takeParse()
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return intake.Read(name, body)
}
