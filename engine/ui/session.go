package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// These constants limit sessions.
const (
	sessionsMax = 1_000
	// tokenSessionsMax limits the sessions of one token, so that no token uses up sessionsMax alone.
	tokenSessionsMax = 50
	sessionMax       = 8 * time.Hour
)

// session is a signed-in user. Only notice changes after the session is created.
type session struct {
	secret  string // of the access token; "" if the server requires none
	form    string // the secret value of all forms of the session
	changes bool   // the user asked for changes when they signed in
	begun   time.Time

	mu     sync.Mutex
	notice string // the outcome of the last change, shown once; guarded by mu
}

// note sets the text that the next page shows.
func (s *session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = text
}

// noted returns the text for this page.
func (s *session) noted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.notice
	s.notice = ""
	return text
}

// proves reports whether a form belongs to the session.
func (s *session) proves(form string) bool {
	return subtle.ConstantTimeCompare([]byte(s.form), []byte(form)) == 1
}

// sessionKey is the hash of a session's id. A look-up by hash takes a time that tells nothing about
// the id.
type sessionKey [sha256.Size]byte

func keyOf(id string) sessionKey { return sha256.Sum256([]byte(id)) }

// sessions contains all sessions of the server. They are in memory only, and end with the process.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[sessionKey]*session // guarded by mu
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, all: map[sessionKey]*session{}}
}

// random returns a text of 32 random bytes.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// begin creates a session and returns its id. If there are too many sessions, the oldest one ends.
func (s *sessions) begin(secret string, changes bool) (id string) {
	id = random()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest, oldestOfToken sessionKey
	var oldestAt, oldestOfTokenAt time.Time
	ofToken := 0
	for key, other := range s.all {
		if now.Sub(other.begun) >= sessionMax {
			delete(s.all, key)
			continue
		}
		if oldestAt.IsZero() || other.begun.Before(oldestAt) {
			oldest, oldestAt = key, other.begun
		}
		if other.secret != secret {
			continue
		}
		ofToken++
		if oldestOfTokenAt.IsZero() || other.begun.Before(oldestOfTokenAt) {
			oldestOfToken, oldestOfTokenAt = key, other.begun
		}
	}
	if ofToken >= tokenSessionsMax {
		delete(s.all, oldestOfToken)
	} else if len(s.all) >= sessionsMax {
		delete(s.all, oldest)
	}
	s.all[keyOf(id)] = &session{secret: secret, form: random(), changes: changes, begun: now}
	return id
}

// find returns the session with an id, or nil.
func (s *sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[keyOf(id)]
	if found == nil || s.now().Sub(found.begun) >= sessionMax {
		return nil
	}
	return found
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, keyOf(id))
}

// cookie returns the cookie of a session. The browser forgets it when it is closed.
func (h *handler) cookie(id string) *http.Cookie {
	c := &http.Cookie{
		Name: h.cookieName(), Value: id, Path: Root, HttpOnly: true, Secure: h.Secure, SameSite: http.SameSiteStrictMode,
	}
	if h.Secure {
		c.Path = "/" // as the prefix __Host- requires
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}
