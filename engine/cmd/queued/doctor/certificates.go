package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/engine/internal/validity"
	"github.com/pronybench/prony/engine/node"
)

func (r *report) certificates(h Host, t node.TLS) {
	const check = "certificate"
	if t.CertFile == "" && t.KeyFile == "" && t.ClientCAFile == "" {
		r.add(check, Fit, "none: connections are not encrypted", "")
		return
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		r.add(check, Unfit, err.Error(), "--tls-cert and --tls-key name PEM files that belong together")
		return
	}
	r.expiry(check, h, pair.Leaf)
	r.keyMode(check, t.KeyFile)
	if t.ClientCAFile == "" {
		return
	}
	text, err := os.ReadFile(t.ClientCAFile)
	switch {
	case err != nil:
		r.add(check, Unfit, err.Error(), "--tls-client-ca names a PEM file")
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		r.add(check, Unfit, t.ClientCAFile+" has no certificate in PEM", "--tls-client-ca names a PEM file with the authorities of clients")
	default:
		r.add(check, Fit, "client certificates are asked for", "")
	}
}

// keyMode adds a warning if users other than the owner may read a key file.
func (r *report) keyMode(check, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		r.add(check, Warning, fmt.Sprintf("the key %s can be read by others: its mode is %o", path, info.Mode().Perm()), "chmod 600 "+path)
	}
}

func (r *report) expiry(check string, h Host, leaf *x509.Certificate) {
	now, day := h.Now(), leaf.NotAfter.UTC().Format(time.DateOnly)
	switch validity.Of(leaf, now) {
	case validity.NotYet:
		r.add(check, Unfit, "it is not valid before "+leaf.NotBefore.UTC().Format(time.RFC3339), "set the clock, or use another certificate")
	case validity.Ended:
		r.add(check, Unfit, "it expired on "+day, "renew it: the server reloads the file")
	case validity.EndsSoon:
		r.add(check, Warning, "it expires on "+day, "renew it: the server reloads the file")
	case validity.Valid:
		r.add(check, Fit, "valid until "+day, "")
	}
	const oneDay = 24 * time.Hour
	r.measured(fmt.Sprintf("%d days", int64(leaf.NotAfter.Sub(now)/oneDay)), fmt.Sprintf("limit %d", validity.Soon/oneDay))
}
