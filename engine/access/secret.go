package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"strings"
)

// The text of a secret consists of characters that are allowed in a URL and in a header:
//
//	prony_ | token id: 10 random bytes, base32 | _ | 32 random bytes, base64
//
// Scanners for leaked secrets can recognize the prefix. The token id makes authentication a single
// map access.
const (
	secretPrefix = "prony_"
	idLen        = 16
	secretLen    = len(secretPrefix) + idLen + 1 + 43
)

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// secretHash is the stored form of a secret. A plain SHA-256 is sufficient: a secret has 256 random
// bits, so it cannot be found by trying.
type secretHash [sha256.Size]byte

func newTokenID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never returns an error: it crashes the process instead
	return idEncoding.EncodeToString(b[:])
}

func newSecret(id string) (string, secretHash) {
	var b [32]byte
	_, _ = rand.Read(b[:])
	text := secretPrefix + id + "_" + base64.RawURLEncoding.EncodeToString(b[:])
	return text, hashSecret(text)
}

// hashSecret hashes the whole text, including the prefix and the id, so that a change anywhere in
// the text changes the hash.
func hashSecret(text string) secretHash {
	var b [secretLen]byte
	copy(b[:], text)
	return sha256.Sum256(b[:])
}

func secretID(text string) (string, bool) {
	const end = len(secretPrefix) + idLen
	if len(text) != secretLen || !strings.HasPrefix(text, secretPrefix) || text[end] != '_' {
		return "", false
	}
	return text[len(secretPrefix):end], true
}

// IsTokenID reports whether a text has the form of a token's id.
func IsTokenID(text string) bool {
	if len(text) != idLen {
		return false
	}
	_, err := idEncoding.DecodeString(text)
	return err == nil
}
