package call

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	"github.com/pronybench/prony/engine/queue"
)

const (
	pageDefault = 100
	// PageMax is the maximum number of entries on a page.
	PageMax = 1_000
)

// PageSize returns the number of entries on a page, from the page_size of a request.
func PageSize(n uint32) (int, error) {
	if n > PageMax {
		return 0, queue.Outside("page_size", n, 1, PageMax)
	}
	if n == 0 {
		return pageDefault, nil
	}
	return int(n), nil
}

// A page token is the base64 text of
//
//	format:1 | hash of the list's parameters:8 | position after the page | CRC-32C of all before:4
//
// The hash and the checksum let the server refuse a damaged token or a token of another list. A
// token is neither secret nor trusted: the server validates the position again.
const (
	pageFormat    = 1
	pageTokenHead = 1 + 8
	pageTokenTail = 4
	// pageTokenMax exceeds the length of any valid token.
	pageTokenMax = 1 << 10
)

var pageText = base64.RawURLEncoding.Strict()

// ListName returns the hash of the parameters of a list.
func ListName(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write(append([]byte(p), 0xff)) // never fails
	}
	return h.Sum64()
}

// PageToken returns the token of the page of a list that begins at a position.
func PageToken(list uint64, at []byte) string {
	raw := append(binary.BigEndian.AppendUint64([]byte{pageFormat}, list), at...)
	return pageText.EncodeToString(binary.BigEndian.AppendUint32(raw, pageSum(raw)))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func pageSum(raw []byte) uint32 { return crc32.Checksum(raw, castagnoli) }

// ParsePageToken returns the start of a page, or nil for the first page.
func ParsePageToken(list uint64, token string) (at []byte, err error) {
	if token == "" {
		return nil, nil
	}
	if len(token) > pageTokenMax {
		return nil, ErrPageToken
	}
	raw, err := pageText.DecodeString(token)
	if err != nil || len(raw) <= pageTokenHead+pageTokenTail {
		return nil, ErrPageToken
	}
	raw, sum := raw[:len(raw)-pageTokenTail], raw[len(raw)-pageTokenTail:]
	if raw[0] != pageFormat || binary.BigEndian.Uint64(raw[1:]) != list || binary.BigEndian.Uint32(sum) != pageSum(raw) {
		return nil, ErrPageToken
	}
	return raw[pageTokenHead:], nil
}

// ErrPageToken refuses a page token that is damaged or belongs to another list.
var ErrPageToken = &queue.FieldError{Field: "page_token", Problem: "does not belong to this list: pass next_page_token of the previous page with otherwise unchanged fields, or none for the first page"}
