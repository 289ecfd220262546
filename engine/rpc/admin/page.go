package admin

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

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

func listName(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write(append([]byte(p), 0xff)) // never fails
	}
	return h.Sum64()
}

func pageToken(list uint64, at []byte) string {
	raw := append(binary.BigEndian.AppendUint64([]byte{pageFormat}, list), at...)
	return pageText.EncodeToString(binary.BigEndian.AppendUint32(raw, pageSum(raw)))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func pageSum(raw []byte) uint32 { return crc32.Checksum(raw, castagnoli) }

// parsePageToken returns the start of a page, or nil for the first page.
func parsePageToken(list uint64, token string) (at []byte, err error) {
	if token == "" {
		return nil, nil
	}
	if len(token) > pageTokenMax {
		return nil, errPageToken
	}
	raw, err := pageText.DecodeString(token)
	if err != nil || len(raw) <= pageTokenHead+pageTokenTail {
		return nil, errPageToken
	}
	raw, sum := raw[:len(raw)-pageTokenTail], raw[len(raw)-pageTokenTail:]
	if raw[0] != pageFormat || binary.BigEndian.Uint64(raw[1:]) != list || binary.BigEndian.Uint32(sum) != pageSum(raw) {
		return nil, errPageToken
	}
	return raw[pageTokenHead:], nil
}

// taskPlace encodes a position in a list of tasks as shard:1 | position in the shard.
func taskPlace(p *shard.ListPlace) []byte { return append([]byte{byte(p.Shard)}, p.After...) }

func parseTaskPlace(at []byte) shard.ListPlace {
	if len(at) == 0 {
		return shard.ListPlace{}
	}
	return shard.ListPlace{Shard: int(at[0]), After: storage.Place(at[1:])}
}

// queuePlace encodes the position after a queue in a list of queues. The separator never occurs in
// names.
func queuePlace(n queue.Name) []byte { return []byte(n.Tenant + "\x00" + n.Queue) }

func parseQueuePlace(at []byte) (*queue.Name, error) {
	tenant, name, ok := strings.Cut(string(at), "\x00")
	if !ok {
		return nil, errPageToken
	}
	return &queue.Name{Tenant: tenant, Queue: name}, nil
}

// errStandsAlone refuses a cluster change on a standalone server.
var errStandsAlone = status.Error(codes.FailedPrecondition, "this is a standalone server: start it with --cluster-node")

// errPageToken refuses a page token that is damaged or belongs to another list.
var errPageToken = &queue.FieldError{Field: "page_token", Problem: "does not belong to this list: pass next_page_token of the previous page with otherwise unchanged fields, or none for the first page"}
