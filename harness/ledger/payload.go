package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// HeaderSize is the size in bytes of the header that starts every payload and contains its
// identity. It is also the smallest size of a payload.
const HeaderSize = 32

// The header, all words little-endian:
//
//	0           8                        16             24         32
//	| round id  | producer 24 | seq 40 b | intended ns  | checksum | filler …
//
// The filler is either derived from the identity or provided by the caller. The checksum is
// computed from the other fields of the header, the filler, the payload's length, and the task's
// tenant and queue.
const (
	roundAt    = 0
	sequenceAt = 8
	intendedAt = 16
	checksumAt = 24

	sequenceBits = 40
	producerBits = 24
)

// Limits of an Identity. At a million tasks a second, one producer needs twelve days to use
// MaxSequences numbers.
const (
	MaxProducers = 1 << producerBits
	MaxSequences = 1 << sequenceBits
)

// Identity identifies the task of a payload.
type Identity struct {
	Round    uint64 // ID of the round that sent the task
	Producer uint32 // number of the producer, below MaxProducers
	Sequence uint64 // number of tasks that the producer sent before, below MaxSequences
	// IntendedNS is the intended start, in nanoseconds since the round's epoch. The ledger does not
	// read it.
	IntendedNS int64
}

// String returns the name that samples and messages use for the task.
func (id Identity) String() string {
	return fmt.Sprintf("producer %d task %d", id.Producer, id.Sequence)
}

func (id Identity) word() uint64 {
	return uint64(id.Producer)<<sequenceBits | id.Sequence&(MaxSequences-1)
}

// Address is a queue of a tenant. It contains the hash of the names, so that the hash is computed
// once for many payloads.
type Address struct {
	Tenant, Queue string
	hash          uint64
}

// NewAddress returns the address of the queue of the tenant.
func NewAddress(tenant, queue string) Address {
	return Address{Tenant: tenant, Queue: queue, hash: routeHash(tenant, queue)}
}

// Seal writes the whole payload of the task id, which is sent to an address. The payload must have
// at least HeaderSize bytes. Seal retains no reference to it.
func Seal(payload []byte, id Identity, to Address) {
	_ = payload[HeaderSize-1]
	fill(payload[HeaderSize:], fillerSeed(id.Round, id.word()))
	SealAround(payload, id, to)
}

// SealAround writes only the header of a payload and leaves the content after it, which may be
// empty, unchanged.
func SealAround(payload []byte, id Identity, to Address) {
	_ = payload[HeaderSize-1]
	binary.LittleEndian.PutUint64(payload[roundAt:], id.Round)
	binary.LittleEndian.PutUint64(payload[sequenceAt:], id.word())
	binary.LittleEndian.PutUint64(payload[intendedAt:], uint64(id.IntendedNS))
	binary.LittleEndian.PutUint64(payload[checksumAt:], contentHash(payload)^to.hash)
}

// Open returns the identity that a payload contains. The payload was claimed from the given
// address. The identity is valid only if the error is nil.
func Open(payload []byte, from Address) (Identity, error) {
	id, route, err := open(payload)
	if err != nil {
		return id, err
	}
	if route != from.hash {
		return id, ErrMisrouted
	}
	return id, nil
}

// open returns the identity that a payload contains, and the hash of the payload's route. The hash
// is meaningful only if the payload is undamaged.
func open(payload []byte) (id Identity, route uint64, err error) {
	if len(payload) < HeaderSize {
		return id, 0, fmt.Errorf("%w: %d bytes, less than the header of %d", ErrDamaged, len(payload), HeaderSize)
	}
	word := binary.LittleEndian.Uint64(payload[sequenceAt:])
	id = Identity{
		Round:      binary.LittleEndian.Uint64(payload[roundAt:]),
		Producer:   uint32(word >> sequenceBits),
		Sequence:   word & (MaxSequences - 1),
		IntendedNS: int64(binary.LittleEndian.Uint64(payload[intendedAt:])),
	}
	return id, binary.LittleEndian.Uint64(payload[checksumAt:]) ^ contentHash(payload), nil
}

// contentHash hashes a payload without its checksum. It first hashes the content after the header.
// It then hashes the header, with the first hash in the position of the checksum.
func contentHash(payload []byte) uint64 {
	var head [HeaderSize]byte
	copy(head[:checksumAt], payload)
	binary.LittleEndian.PutUint64(head[checksumAt:], xxhash.Sum64(payload[HeaderSize:]))
	return xxhash.Sum64(head[:])
}

// routeHash hashes the name of a queue and the name of its tenant. Only the hash of the tenant is
// passed through finish, so that ("a", "b") and ("b", "a") differ.
func routeHash(tenant, queue string) uint64 {
	return finish(xxhash.Sum64String(tenant)) ^ xxhash.Sum64String(queue)
}

// gamma is the increment of SplitMix64.
const gamma = 0x9e3779b97f4a7c15

// finish is the output function of SplitMix64. Each bit of h affects all bits of the result.
func finish(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func fillerSeed(round, word uint64) uint64 {
	return finish(round*gamma ^ word)
}

// fill writes the filler that SplitMix64 generates from seed. Each word depends only on the seed
// and on the word's position.
func fill(b []byte, seed uint64) {
	for ; len(b) >= 8; b = b[8:] {
		seed += gamma
		binary.LittleEndian.PutUint64(b, finish(seed))
	}
	if len(b) > 0 {
		w := finish(seed + gamma)
		for i := range b {
			b[i] = byte(w >> (8 * i))
		}
	}
}

var (
	// ErrDamaged reports that the bytes of a payload are not the bytes that Seal wrote.
	ErrDamaged = errors.New("payload is damaged")
	// ErrMisrouted reports that a payload was claimed from a tenant or queue that it was not sealed
	// for. A damaged checksum causes the same error. Only Ledger.Claimed can distinguish the two
	// cases, because it knows the round's routes.
	ErrMisrouted = errors.New("payload is not sealed for this tenant and queue")
)
