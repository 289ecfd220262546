package validity

import (
	"bytes"
	"crypto/x509"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEachStateOfACertificateIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	w := New(slog.New(slog.NewTextHandler(&log, nil)), "the certificate", "clients refuse it", func() time.Time { return now })
	const day = 24 * time.Hour
	logged := func(c *x509.Certificate) string {
		log.Reset()
		for range 3 {
			w.Look(c)
		}
		return log.String()
	}
	first := &x509.Certificate{Raw: []byte("1"), NotBefore: now.Add(-day), NotAfter: now.Add(15 * day)}
	assert.Empty(t, logged(first))
	now = now.Add(day + 1)
	assert.Regexp(t, `^time=\S+ level=WARN msg="the certificate expires soon: renew it" valid_until=2030-02-15T12:00:00.000Z\n$`, logged(first))
	now = now.Add(14 * day)
	assert.Regexp(t, `^time=\S+ level=ERROR msg="the certificate has expired: clients refuse it: renew it" valid_until=2030-02-15T12:00:00.000Z\n$`, logged(first))
	ended := &x509.Certificate{Raw: []byte("2"), NotBefore: now.Add(-day), NotAfter: now}
	assert.Regexp(t, `^time=\S+ level=ERROR msg="the certificate has expired`, logged(ended), "another expired certificate")
	early := &x509.Certificate{Raw: []byte("3"), NotBefore: now.Add(day), NotAfter: now.Add(100 * day)}
	assert.Regexp(t, `^time=\S+ level=ERROR msg="the certificate is not valid yet: clients refuse it: set the clock, or use another certificate" valid_from=\S+\n$`, logged(early))
	now = now.Add(day)
	assert.Empty(t, logged(early))
}
