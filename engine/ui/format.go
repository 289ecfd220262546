package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// functions are the functions of the templates.
var functions = template.FuncMap{
	"link": link, "count": count, "rate": rate, "age": age, "time": utc, "bytes": bytesText, "name": enumName, "short": short,
	"size": func(b []byte) uint64 { return uint64(len(b)) }, "schedule": schedule, "root": func() string { return Root },
}

// link returns the address of a page. pairs are the names and values of its query; it omits empty
// values.
func link(page string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return Root + page
	}
	return Root + page + "?" + q.Encode()
}

// count writes a number with separators of thousands.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// rate writes a number of events per second.
func rate(perSecond float64) string {
	switch {
	case perSecond < 0.005:
		return "0"
	case perSecond < 10:
		return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(perSecond, 'f', 2, 64), "0"), ".")
	default:
		return count(uint64(perSecond + 0.5))
	}
}

// age writes a duration with its two largest units.
func age(ms uint64) string {
	units := []struct {
		name string
		ms   uint64
	}{{"d", 86_400_000}, {"h", 3_600_000}, {"min", 60_000}, {"s", 1_000}}
	for i, u := range units {
		if ms < u.ms {
			continue
		}
		text := fmt.Sprintf("%d %s", ms/u.ms, u.name)
		if i+1 < len(units) {
			if rest := ms % u.ms / units[i+1].ms; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return fmt.Sprintf("%d ms", ms)
}

// utc writes a time in Unix milliseconds; "" for 0.
func utc(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}

func bytesText(n uint64) string {
	for _, u := range []struct {
		name  string
		bytes uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// enumName writes a constant of the schema without its prefix, in lower case.
func enumName(prefix string, value fmt.Stringer) string {
	text := strings.TrimPrefix(value.String(), prefix)
	return strings.ToLower(strings.ReplaceAll(text, "_", " "))
}

// shortMax is the number of bytes of an error text that a row of a table shows.
const shortMax = 300

// short cuts an error text for a row of a table.
func short(text string) string {
	if len(text) <= shortMax {
		return text
	}
	return strings.ToValidUTF8(text[:shortMax], "") + "…"
}
