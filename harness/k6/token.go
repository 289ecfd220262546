package k6

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6run"
)

// What `queued serve` goes by too: where its data is, and the file there that has its operators'
// token.
const (
	dataEnv        = "QUEUED_DATA"
	dataDefault    = "data"
	adminTokenFile = "admin.token"
)

// localToken returns the token that a server on this host keeps for its operators, as its own
// commands find it: in QUEUED_DATA, or in ./data. The token is "" if an address may be that of
// another host, if no such file exists, or if this user may not read the file: the server may not
// ask for a token.
func (p *process) localToken(addresses string) (string, error) {
	for _, address := range strings.Split(addresses, ",") {
		if !client.OnThisHost(strings.TrimSpace(address)) {
			return "", nil
		}
	}
	path := filepath.Join(p.env(dataEnv, dataDefault), adminTokenFile)
	secret, err := client.ReadToken(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("token: read the server's: %w", err)
	}
	return secret, nil
}

// tokenRemedy says how a script gets a token.
const tokenRemedy = "set " + k6run.TokenEnv + ", or pass token to connect()"

// askedMax bounds how long a server may take to say whether it asks for a token.
const askedMax = 2 * time.Second

// needsToken returns an error if the server refuses calls without a token. The server is asked once
// for all VUs: otherwise each call of each VU would fail for the same reason. A server that does
// not answer is no error here: the calls say so.
func (p *pool) needsToken(ctx context.Context) error {
	p.asked.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, askedMax)
		defer cancel()
		// Any good token may ask for routes, and the answer is small.
		_, err := p.client(0).API().GetRoutes(ctx, &queuepb.GetRoutesRequest{})
		if err != nil && status.Code(rootStatus(err)) == codes.Unauthenticated {
			p.refusal = &callError{
				call: "connect", field: "token", code: codeDenied,
				cause: fmt.Errorf("the server at %s asks for an access token, and none is set: %s", p.of.address, tokenRemedy),
			}
		}
	})
	return p.refusal
}
