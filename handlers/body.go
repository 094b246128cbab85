package handlers

import (
	"errors"
	"io"
	"net/http"

	"ciclo/internal/fault"
)

// limitedBody gives a body up to its limit and errTooLarge after it.
type limitedBody struct {
	body     io.ReadCloser
	left     int64
	exceeded bool
}

var errTooLarge = errors.New("body over its limit")

// mostDrained is how much more is swallowed so that the sender, who reads our
// answer only after the last byte, sees words and not a broken connection.
const mostDrained = 64 << 20

func limitBody(r *http.Request, limit int64) *limitedBody {
	b := &limitedBody{body: r.Body, left: limit}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = b
	}
	return b
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.exceeded {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if int64(n) > b.left {
		n, b.exceeded = int(b.left), true
		b.left = 0
		return n, errTooLarge
	}
	b.left -= int64(n)
	return n, err
}

func (b *limitedBody) Close() error { return b.body.Close() }

func (b *limitedBody) drain() { _, _ = io.CopyN(io.Discard, b.body, mostDrained) }

// tooLarge says how much would have been accepted.
func tooLarge(limit int64) error {
	words := "1 MB"
	if limit > bodyLimit {
		words = "10 MB"
	}
	return fault.New(fault.TooLarge, "fault.too_large", "limit", words)
}
