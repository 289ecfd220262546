package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronybench/prony/engine/queue"
)

// Keys of the registry's records in its store.
const (
	keyPrefix    = "access/"
	tokenPrefix  = keyPrefix + "token/"
	tenantPrefix = keyPrefix + "tenant/"
)

// format is the first byte of every record. A record of a newer format is refused.
const format = 1

var errTruncated = errors.New("record is cut short")

// encodeToken writes a token:
//
//	format | id | tenant | scopes | note | created | expires | admin file | number of secrets | (hash | until)...
func encodeToken(t *token) Record {
	b := []byte{format}
	b = appendText(b, t.ID)
	b = appendText(b, t.Tenant)
	b = binary.AppendUvarint(b, uint64(t.Scopes))
	b = appendText(b, t.Note)
	b = binary.AppendVarint(b, t.CreatedAtMs)
	b = binary.AppendVarint(b, t.ExpiresAtMs)
	var adminFile uint64
	if t.adminFile {
		adminFile = 1
	}
	b = binary.AppendUvarint(b, adminFile)
	b = binary.AppendUvarint(b, uint64(len(t.secrets)))
	for _, s := range t.secrets {
		b = append(b, s.hash[:]...)
		b = binary.AppendVarint(b, s.untilMs)
	}
	return Record{Key: tokenPrefix + t.ID, Value: b}
}

func decodeToken(b []byte) (*token, error) {
	d := decode(b)
	t := &token{Token: Token{ID: d.text(), Tenant: d.text()}}
	scopes := d.uint()
	t.Scopes = Scopes(scopes)
	t.Note, t.CreatedAtMs, t.ExpiresAtMs = d.text(), d.int(), d.int()
	t.adminFile = d.uint() != 0
	n := d.uint()
	switch {
	case d.err != nil:
		return nil, d.err
	case len(t.ID) != idLen:
		return nil, fmt.Errorf("token id %q is malformed", t.ID)
	case t.Tenant != AllTenants && queue.CheckName("tenant", t.Tenant) != nil:
		return nil, fmt.Errorf("tenant %q is malformed", t.Tenant)
	case scopes == 0 || scopes&^uint64(AllScopes) != 0:
		return nil, fmt.Errorf("scopes %#x are not known: use a newer server", scopes)
	case n < 1 || n > secretsMax:
		return nil, fmt.Errorf("token has %d secrets, not 1 to %d", n, secretsMax)
	}
	t.secrets = make([]*secret, n)
	for i := range t.secrets {
		var hash secretHash
		d.bytes(hash[:])
		t.secrets[i] = t.newSecret(hash)
		t.secrets[i].untilMs = d.int()
	}
	return t, d.end()
}

// encodeTenant writes a tenant's quotas:
//
//	format | tenant | tasks | bytes | enqueues per second | leases | payload bytes
func encodeTenant(name string, q Quotas) Record {
	b := appendText([]byte{format}, name)
	for _, v := range []uint64{q.TasksMax, q.BytesMax, q.EnqueuesPerSMax, q.LeasesMax, q.PayloadBytesMax} {
		b = binary.AppendUvarint(b, v)
	}
	return Record{Key: tenantPrefix + name, Value: b}
}

func decodeTenant(b []byte) (string, Quotas, error) {
	d := decode(b)
	name := d.text()
	q := Quotas{TasksMax: d.uint(), BytesMax: d.uint(), EnqueuesPerSMax: d.uint(), LeasesMax: d.uint(), PayloadBytesMax: d.uint()}
	if err := d.end(); err != nil {
		return "", Quotas{}, err
	}
	if err := queue.CheckName("tenant", name); err != nil {
		return "", Quotas{}, err
	}
	if err := q.check(); err != nil {
		return "", Quotas{}, err
	}
	return name, q, nil
}

// decodeAll sorts out the records of a store. Those of others are left alone.
func decodeAll(records []Record) (*snapshot, error) {
	s := &snapshot{tokens: map[string]*token{}, quotas: map[string]Quotas{}}
	for _, r := range records {
		name, ours := strings.CutPrefix(r.Key, keyPrefix)
		if !ours {
			continue
		}
		var err error
		switch {
		case strings.HasPrefix(r.Key, tokenPrefix):
			var t *token
			if t, err = decodeToken(r.Value); err == nil {
				err = sameName(r.Key, tokenPrefix+t.ID)
				s.tokens[t.ID] = t
			}
		case strings.HasPrefix(r.Key, tenantPrefix):
			var tenant string
			var q Quotas
			if tenant, q, err = decodeTenant(r.Value); err == nil {
				err = sameName(r.Key, tenantPrefix+tenant)
				s.quotas[tenant] = q
			}
		default:
			err = errors.New("its kind is not known: use a newer server")
		}
		if err != nil {
			return nil, fmt.Errorf("read the access record %q: %w", name, err)
		}
	}
	return s, nil
}

func sameName(key, own string) error {
	if key != own {
		return fmt.Errorf("record is %q's: the store is damaged", own)
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder takes fields off the front of b. The first problem sticks and later reads give zeros.
type decoder struct {
	b   []byte
	err error
}

func decode(b []byte) *decoder {
	switch {
	case len(b) == 0:
		return &decoder{err: errTruncated}
	case b[0] != format:
		return &decoder{err: fmt.Errorf("record has format %d, this server reads format %d: use a newer server", b[0], format)}
	}
	return &decoder{b: b[1:]}
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.b, d.err = nil, errTruncated
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) int() int64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

// bytes fills into.
func (d *decoder) bytes(into []byte) {
	if d.err == nil && len(into) > len(d.b) {
		d.b, d.err = nil, errTruncated
	}
	if d.err == nil {
		d.b = d.b[copy(into, d.b):]
	}
}

func (d *decoder) text() string {
	n := d.uint()
	if d.err == nil && n > uint64(len(d.b)) {
		d.b, d.err = nil, errTruncated
	}
	if d.err != nil {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	if !utf8.ValidString(s) {
		d.b, d.err = nil, errors.New("record has text that is not valid UTF-8")
	}
	return s
}

func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("record has %d bytes too many", len(d.b))
	}
	return d.err
}
