package main

import (
	"fmt"
	"sync/atomic"

	"github.com/spf13/pflag"
)

const (
	pageMax  = 1_000 // the server's limit of entries per page
	limitMax = 100_000
)

// pages reads a list that the server returns page by page.
type pages struct {
	limit uint32
	token string
}

func (p *pages) flags(flags *pflag.FlagSet) {
	numberFlag(flags, &p.limit, "limit", 100, fmt.Sprintf("maximum number of entries to list, up to %d", limitMax))
	flags.StringVar(&p.token, "page-token", "", "continue where an earlier list ended")
}

// walk calls page until the limit or the end of the list is reached. page reads one page, and
// returns the number of its entries and the token of the next page.
func (p *pages) walk(a *app, page func(size uint32, token string) (got int, next string, err error)) error {
	if p.limit == 0 || p.limit > limitMax {
		return usageError{fmt.Errorf("--limit %d is not from 1 to %d", p.limit, limitMax)}
	}
	token := p.token
	var listed atomic.Uint64
	defer a.during(func() string { return fmt.Sprintf("%d of at most %d listed", listed.Load(), p.limit) })()
	for left := p.limit; left > 0; {
		got, next, err := page(min(left, pageMax), token)
		if err != nil || next == "" {
			return err
		}
		if next == token && got == 0 { // prevent an endless loop if the server has a bug
			return fmt.Errorf("the server's list repeats page token %q", token)
		}
		listed.Add(uint64(got))
		token = next
		left -= min(left, uint32(got))
	}
	return nil
}

// more writes to standard error how to list the rest of a table, if there is more.
func (a *app) more(token string) {
	if token != "" && a.output == formatTable {
		a.note("the list is longer: pass --page-token %s, or a larger --limit\n", token)
	}
}
