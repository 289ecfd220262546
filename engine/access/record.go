package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
)

// Keys of the registry's records in its store.
const (
	keyPrefix    = "access/"
	tokenPrefix  = keyPrefix + "token/"
	tenantPrefix = keyPrefix + "tenant/"
)

// format is the first byte of every record. Decoding returns an error for other formats.
const format = 1

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
	d := fields.New(b, format)
	t := &token{Token: Token{ID: text(d), Tenant: text(d)}}
	scopes := d.Uint()
	t.Scopes = Scopes(scopes)
	t.Note, t.CreatedAtMs, t.ExpiresAtMs = text(d), d.Int(), d.Int()
	t.adminFile = d.Uint() != 0
	n := d.Uint()
	switch {
	case d.Err != nil:
		return nil, d.Err
	case len(t.ID) != idLen:
		return nil, fmt.Errorf("token id %q is malformed", t.ID)
	case t.Tenant != AllTenants && queue.CheckName("tenant", t.Tenant) != nil:
		return nil, fmt.Errorf("tenant %q is malformed", t.Tenant)
	case scopes == 0 || scopes&^uint64(AllScopes) != 0:
		return nil, fmt.Errorf("unknown scopes %#x: use a newer server", scopes)
	case n < 1 || n > secretsMax:
		return nil, fmt.Errorf("token has %d secrets, not 1 to %d", n, secretsMax)
	}
	t.secrets = make([]*secret, n)
	for i := range t.secrets {
		var hash secretHash
		d.Fill(hash[:])
		t.secrets[i] = t.newSecret(hash)
		t.secrets[i].untilMs = d.Int()
	}
	return t, d.End()
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
	d := fields.New(b, format)
	name := text(d)
	q := Quotas{TasksMax: d.Uint(), BytesMax: d.Uint(), EnqueuesPerSMax: d.Uint(), LeasesMax: d.Uint(), PayloadBytesMax: d.Uint()}
	if err := d.End(); err != nil {
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
			err = errors.New("unknown kind of record: use a newer server")
		}
		if err != nil {
			return nil, fmt.Errorf("read the access record %q: %w", name, err)
		}
	}
	return s, nil
}

func sameName(key, own string) error {
	if key != own {
		return fmt.Errorf("the record belongs to %q: the store is damaged", own)
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func text(d *fields.Decoder) string {
	s := d.Text()
	if !utf8.ValidString(s) {
		d.Fail(errors.New("record has text that is not valid UTF-8"))
	}
	return s
}
