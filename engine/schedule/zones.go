package schedule

import (
	"archive/zip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"time"
)

// zoneData is the time zone database of the Go distribution ($GOROOT/lib/time/zoneinfo.zip); 'make
// zones' updates it. time.LoadLocation would prefer the database of the host, so that nodes could
// disagree about the due times of a schedule.
//
//go:embed zoneinfo.zip
var zoneData string

// zones caches the loaded zones by name. Their number is limited by the database.
var zones sync.Map

// database opens the embedded database at the first use of a zone.
var database = sync.OnceValue(func() *zip.Reader {
	r, err := zip.NewReader(strings.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		panic(err) // the program was built with a damaged database
	}
	return r
})

// zone returns the time zone with an IANA name, or UTC for "".
func zone(name string) (*time.Location, bool) {
	if name == "" {
		return time.UTC, true
	}
	if found, ok := zones.Load(name); ok {
		return found.(*time.Location), true
	}
	f, err := database().Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // it reads from memory
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, false
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, false
	}
	zones.Store(name, loc)
	return loc, true
}
