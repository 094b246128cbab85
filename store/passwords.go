package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"ciclo/internal/fault"
)

// argon2id as OWASP recommends for servers: 19 MiB, two passes, one lane.
var hashing = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// One password a core at a time: more would only take memory and time from
// pages. Who cannot start within patience is told to try again.
var (
	hashers  = make(chan struct{}, runtime.NumCPU())
	patience = 3 * time.Second
)

func hasher(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case hashers <- struct{}{}:
		return func() { <-hashers }, nil
	case <-ctx.Done():
		return nil, fault.New(fault.Busy, "fault.busy")
	}
}

// HashPassword answers what is stored for a password.
func HashPassword(password string) (string, error) {
	return hashPassword(context.Background(), password)
}

func hashPassword(ctx context.Context, password string) (string, error) {
	release, err := hasher(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	hash, err := argon2id.CreateHash(password, hashing)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

func passwordMatches(ctx context.Context, password, hash string) (bool, error) {
	release, err := hasher(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return ok, nil
}

// nobodysHash is compared when an address is unknown, to take the same time.
var nobodysHash = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash("nobody has this password", hashing)
	if err != nil {
		panic(err) // the system has no randomness
	}
	return hash
})
