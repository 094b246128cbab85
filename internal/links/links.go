// Package links makes and reads the tokens of review links and the codes of
// printed slips.
//
// A token is the link's id and an HMAC-SHA256 over organisation, cycle, person
// and the row's nonce, under a key of the ring. It is derived when a message is
// built and stored nowhere: whoever reads the database, a backup or a payload
// holds no working link. The first key of the ring signs, all of them verify.
package links

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Key is one secret of the ring.
type Key struct {
	ID     string
	Secret []byte
}

// Ring holds the keys; the first signs.
type Ring []Key

// Link is the row a token stands for.
type Link struct {
	ID       int64
	TenantID int64
	CycleID  int64
	PersonID int64
	KeyID    string
	Nonce    []byte
}

const macSize = 24 // bytes of the HMAC kept: 192 bits

// MinSecret is the least a key must hold, in bytes.
const MinSecret = 32

// ParseRing reads "kid:base64,kid:base64". It refuses an empty ring, a key that
// is short, repeats an id, or is made of one repeated byte.
func ParseRing(s string) (Ring, error) {
	var ring Ring
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		id, encoded, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok || id == "" || len(id) > 32 {
			return nil, errors.New("a key is written kid:base64, several are separated by commas")
		}
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			secret, err = base64.RawURLEncoding.DecodeString(encoded)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("key %q is not base64", id)
		case len(secret) < MinSecret:
			return nil, fmt.Errorf("key %q has %d bytes, at least %d are needed", id, len(secret), MinSecret)
		case strings.Count(string(secret), string(secret[:1])) == len(secret):
			return nil, fmt.Errorf("key %q is one byte repeated", id)
		case seen[id]:
			return nil, fmt.Errorf("key id %q stands twice", id)
		}
		seen[id] = true
		ring = append(ring, Key{ID: id, Secret: secret})
	}
	return ring, nil
}

// SigningKey names the key that new links are made with.
func (r Ring) SigningKey() string { return r[0].ID }

// Has reports whether the ring holds the key.
func (r Ring) Has(id string) bool { _, ok := r.secret(id); return ok }

func (r Ring) secret(id string) ([]byte, bool) {
	for _, k := range r {
		if k.ID == id {
			return k.Secret, true
		}
	}
	return nil, false
}

// Token derives a link's token.
func (r Ring) Token(l Link) (string, error) {
	secret, ok := r.secret(l.KeyID)
	if !ok {
		return "", fmt.Errorf("link %d was made with key %q, which the ring lacks", l.ID, l.KeyID)
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(l.ID))
	return base64.RawURLEncoding.EncodeToString(append(raw, mac(secret, l)...)), nil
}

// ID reads the link's id out of a token, so that its row can be looked up.
func ID(token string) (int64, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 8+macSize {
		return 0, false
	}
	id := int64(binary.BigEndian.Uint64(raw))
	return id, id > 0
}

// Verify reports, in constant time, whether the token is the link's.
func (r Ring) Verify(token string, l Link) bool {
	want, err := r.Token(l)
	return err == nil && hmac.Equal([]byte(want), []byte(token))
}

func mac(secret []byte, l Link) []byte {
	h := hmac.New(sha256.New, secret)
	for _, id := range []int64{l.ID, l.TenantID, l.CycleID, l.PersonID} {
		_ = binary.Write(h, binary.BigEndian, id) // a hash never refuses
	}
	h.Write(l.Nonce)
	return h.Sum(nil)[:macSize]
}
