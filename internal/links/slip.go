package links

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// A slip's code is for paper, voice and thumbs: sixteen characters of an
// alphabet without I, L, O and U, in groups of four. Eight carry 40 bits of an
// HMAC over the same row as the link's, in a domain of its own, so that neither
// gives the other away; seven name the row, and with it the organisation; the
// last one checks the rest, so that a misread character or two that changed
// places are told from a wrong code before anything is looked up.
const (
	slipAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	slipMAC      = 8 // characters
	slipID       = 7
	slipLength   = slipMAC + slipID + 1
	slipIDs      = 1 << (5 * slipID)
)

// SlipCode derives the code of a link's slip, grouped for reading aloud.
func (r Ring) SlipCode(l Link) (string, error) {
	code, err := r.slipCode(l)
	if err != nil {
		return "", err
	}
	return group(code), nil
}

func (r Ring) slipCode(l Link) (string, error) {
	secret, ok := r.secret(l.KeyID)
	switch {
	case !ok:
		return "", fmt.Errorf("link %d was made with key %q, which the ring lacks", l.ID, l.KeyID)
	case l.ID <= 0 || l.ID >= slipIDs:
		return "", fmt.Errorf("link %d has no room in a slip's code", l.ID)
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("ciclo slip\x00"))
	for _, id := range []int64{l.ID, l.TenantID, l.CycleID, l.PersonID} {
		_ = binary.Write(h, binary.BigEndian, id) // a hash never refuses
	}
	h.Write(l.Nonce)
	proof := spell(binary.BigEndian.Uint64(h.Sum(nil)), slipMAC)
	code := proof + spell(uint64(l.ID)^slipMask(proof), slipID)
	return code + string(slipCheck(code)), nil
}

// ReadSlip reads what a person typed: in any case, with or without the dashes,
// O for 0 and I or L for 1. It answers the id of the link that the code names
// and the code as it was printed; not ok means that something was mistyped.
func ReadSlip(typed string) (id int64, code string, ok bool) {
	var b strings.Builder
	for _, c := range strings.ToUpper(typed) {
		switch c {
		case ' ', '-', '\u2010', '\u2011', '\u2013', '\u00a0', '.':
			continue
		case 'O':
			c = '0'
		case 'I', 'L':
			c = '1'
		}
		if !strings.ContainsRune(slipAlphabet, c) || b.Len() == slipLength {
			return 0, "", false
		}
		b.WriteRune(c)
	}
	code = b.String()
	if len(code) != slipLength || code[slipLength-1] != slipCheck(code[:slipLength-1]) {
		return 0, "", false
	}
	var n uint64
	for _, c := range code[slipMAC : slipLength-1] {
		n = n<<5 | uint64(strings.IndexRune(slipAlphabet, c))
	}
	id = int64(n ^ slipMask(code[:slipMAC]))
	return id, group(code), id > 0
}

// VerifySlip reports, in constant time, whether the code, as ReadSlip answers
// it, is that of the link's slip.
func (r Ring) VerifySlip(code string, l Link) bool {
	want, err := r.SlipCode(l)
	return err == nil && hmac.Equal([]byte(want), []byte(code))
}

// slipMask scatters the ids over the alphabet: small numbers would all begin
// with the same four noughts, which people lose count of. It hides nothing.
func slipMask(proof string) uint64 {
	sum := sha256.Sum256([]byte("ciclo slip id\x00" + proof))
	return binary.BigEndian.Uint64(sum[:]) % slipIDs
}

// spell writes the last n times five bits of v.
func spell(v uint64, n int) string {
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i], v = slipAlphabet[v&31], v>>5
	}
	return string(b)
}

// slipCheck weighs each character by its place in the field of 32 elements: one
// wrong character or two neighbours that changed places never come out even.
func slipCheck(code string) byte {
	sum := 0
	for i := range len(code) {
		sum = double(sum ^ strings.IndexByte(slipAlphabet, code[i]))
	}
	return slipAlphabet[sum]
}

// double multiplies by x modulo x⁵ + x² + 1.
func double(v int) int {
	if v <<= 1; v >= 32 {
		v ^= 0b100101
	}
	return v
}

func group(code string) string {
	return code[:4] + "-" + code[4:8] + "-" + code[8:12] + "-" + code[12:]
}
