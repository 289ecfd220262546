package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/grpc"
)

// TokenBytesMax is the maximum length in bytes of an access token and of a token file.
const TokenBytesMax = 4 << 10

// WithToken sends an access token's secret with each call. It removes white space around the
// secret, so the text of a token file may be passed unchanged. Dial fails if the result cannot be a
// secret (see ParseToken). Dial also refuses to send a secret unencrypted to another host, unless
// WithPlaintextToken allows it.
func WithToken(secret string) grpc.DialOption {
	return tokenOption{name: "WithToken", secret: func() (string, error) { return ParseToken(secret) }}
}

// WithTokenFile is like WithToken, but reads the secret from a file, such as admin.token in a
// server's data folder. Dial reads the file once (see ReadToken) and fails if it cannot.
func WithTokenFile(path string) grpc.DialOption {
	return tokenOption{name: "WithTokenFile", secret: func() (string, error) {
		if path == "" {
			return "", errors.New("the path is empty: pass the path of the file with the secret, or omit the option if the server requires no token")
		}
		return ReadToken(path)
	}}
}

// WithPlaintextToken allows sending the access token to another host without TLS, where anyone on
// the network path can read it.
func WithPlaintextToken() grpc.DialOption { return plaintextOption{} }

// ParseToken returns the secret of an access token without the white space around it. It fails if
// the text cannot be a secret. A secret consists of 1 to TokenBytesMax printable ASCII characters
// other than the space. The error does not contain the text.
func ParseToken(text string) (string, error) {
	secret := strings.TrimSpace(text)
	switch {
	case secret == "":
		return "", errors.New("the access token is empty: pass the secret as the server gave it")
	case len(secret) > TokenBytesMax:
		return "", fmt.Errorf("the access token has %d bytes, more than %d: pass the secret as the server gave it", len(secret), TokenBytesMax)
	}
	for i, r := range secret {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("the access token has the character %q at byte %d: only printable ASCII without spaces can be sent; pass the secret as the server gave it", r, i)
		}
	}
	return secret, nil
}

// ReadToken returns the access token in a file, without the white space around it. The file must be
// a regular file of at most TokenBytesMax bytes.
func ReadToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read the access token: %s is not a regular file: name the file with the secret", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, TokenBytesMax+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	if len(text) > TokenBytesMax {
		return "", fmt.Errorf("read the access token: %s has more than %d bytes: name a file with only the secret", path, TokenBytesMax)
	}
	secret, err := ParseToken(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return secret, nil
}

// tokenOption is an access token that Dial has not read yet.
type tokenOption struct {
	grpc.EmptyDialOption

	name   string // name of the option; used in errors
	secret func() (string, error)
}

// secretOption is an access token that Dial has read.
type secretOption struct {
	grpc.EmptyDialOption

	secret string
}

type plaintextOption struct{ grpc.EmptyDialOption }

// readTokens reads the access tokens in options and replaces each by an option with its secret.
// Errors contain addresses, the addresses to dial.
func readTokens(addresses string, options []grpc.DialOption) ([]grpc.DialOption, error) {
	out := make([]grpc.DialOption, len(options))
	for i, o := range options {
		if t, ok := o.(tokenOption); ok {
			secret, err := t.secret()
			if err != nil {
				return nil, fmt.Errorf("dial %s: %w: %s: %w", addresses, ErrInvalidArgument, t.name, err)
			}
			o = secretOption{secret: secret}
		}
		out[i] = o
	}
	return out, nil
}

// grpcOptions replaces this package's options with options of gRPC. guarded is true if options
// contains a token that must not be sent unencrypted.
func grpcOptions(address string, options []grpc.DialOption, h *handshakes) (out []grpc.DialOption, guarded bool) {
	plaintext := OnThisHost(address)
	for _, o := range options {
		if _, ok := o.(plaintextOption); ok {
			plaintext = true
		}
	}
	out = make([]grpc.DialOption, len(options))
	for i, o := range options {
		switch t := o.(type) {
		case secretOption:
			guarded = !plaintext
			o = grpc.WithPerRPCCredentials(bearer{metadata: map[string]string{"authorization": "Bearer " + t.secret}, plaintext: plaintext})
		case tlsOption:
			o = t.recording(h)
		}
		out[i] = o
	}
	return out, guarded
}

// bearer adds an access token to the metadata of calls.
type bearer struct {
	metadata  map[string]string
	plaintext bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return b.metadata, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return !b.plaintext }
