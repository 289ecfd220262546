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
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/k6run"
)

// Names that `queued serve` uses too: the variable and the default of its data folder, and the file
// there with its operators' token.
const (
	dataEnv        = "QUEUED_DATA"
	dataDefault    = "data"
	adminTokenFile = "admin.token"
)

// localToken returns the operators' token of a server on this host. It looks in QUEUED_DATA or
// ./data, as the server's commands do. It returns "" if an address may belong to another host, if
// the file does not exist, or if this user may not read it: the server may not require a token.
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
		return "", fmt.Errorf("token: read the server's token: %w", err)
	}
	return secret, nil
}

// tokenRemedy tells a user how to set a token.
const tokenRemedy = "set " + k6run.TokenEnv + ", or pass token to connect()"

// askedMax is the timeout for asking whether a server requires a token.
const askedMax = 2 * time.Second

// needsToken returns an error if the server refuses calls without a token. It asks the server once
// for all VUs; otherwise each call of each VU would fail for the same reason. An unreachable server
// is not an error here: the calls will report it.
func (p *pool) needsToken(ctx context.Context) error {
	p.asked.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, askedMax)
		defer cancel()
		// Any valid token may read the routes, and the answer is small.
		_, err := p.client(0).API().GetRoutes(ctx, &queuepb.GetRoutesRequest{})
		if err != nil && status.Code(err) == codes.Unauthenticated {
			p.refusal = &options.Error{
				Call: "connect", Field: "token", Code: codeDenied,
				Cause: fmt.Errorf("the server at %s asks for an access token, and none is set: %s", p.of.address, tokenRemedy),
			}
		}
	})
	return p.refusal
}
