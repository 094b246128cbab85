package store

import (
	"context"
	"time"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
)

// parsesAtOnce is how many files this process reads at the same time: a file of
// 10 MB takes some hundred while it is taken apart.
const parsesAtOnce = 2

var (
	parses = make(chan struct{}, parsesAtOnce)
	// parseWait is how long a file waits for its turn; most take no second.
	parseWait = 10 * time.Second
)

// takeParse takes one of the turns to read a file, or answers Busy. The caller
// gives it back.
func takeParse(ctx context.Context) (giveBack func(), err error) {
	giveBack = func() { <-parses }
	late := time.NewTimer(parseWait)
	defer late.Stop()
	select {
	case parses <- struct{}{}:
		return giveBack, nil
	case <-late.C:
		return nil, fault.New(fault.Busy, "intake.busy", "n", parsesAtOnce)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ReadFile understands a file that a person brings, as intake.Read does, when
// it is this file's turn; Busy when others are being read.
func ReadFile(ctx context.Context, name string, body []byte, kind intake.Columns) (*intake.Sheet, error) {
	giveBack, err := takeParse(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return intake.Read(name, body, kind)
}
