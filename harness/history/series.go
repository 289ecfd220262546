package history

import (
	"cmp"
	"slices"
	"time"
)

// Key contains the common properties of the records of a series.
type Key struct {
	Scenario   string `json:"scenario"`
	Point      string `json:"point,omitempty"`
	Durability string `json:"durability"`
	HostClass  string `json:"host_class,omitempty"`
	CPUModel   string `json:"cpu_model,omitempty"`
	Settings   string `json:"settings"`
}

// Key returns the properties that the record shares with its series.
func (r Record) Key() Key {
	return Key{r.Scenario, r.Point, r.Durability, r.HostClass, r.CPUModel, r.Settings}
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Scenario, other.Scenario), cmp.Compare(k.Point, other.Point), cmp.Compare(k.Durability, other.Durability),
		cmp.Compare(k.HostClass, other.HostClass), cmp.Compare(k.CPUModel, other.CPUModel), cmp.Compare(k.Settings, other.Settings))
}

// Series are records that differ only in the commit and the time.
type Series struct {
	Key
	// Records are sorted by the dates of their commits. Records of one commit are in the order of
	// measurement, and a commit without a date is placed by the time of its measurement.
	Records []Record
}

func (r Record) order() time.Time {
	if r.Committed.IsZero() {
		return r.Measured
	}
	return r.Committed
}

// Group returns the series of records, by scenario and point. The series of one point are sorted by
// their earliest record.
func Group(records []Record) []Series {
	byKey := map[Key][]Record{}
	for _, r := range records {
		byKey[r.Key()] = append(byKey[r.Key()], r)
	}
	var all []Series
	for key, own := range byKey {
		slices.SortFunc(own, func(a, b Record) int {
			return cmp.Or(a.order().Compare(b.order()), a.Measured.Compare(b.Measured), cmp.Compare(a.Run, b.Run))
		})
		all = append(all, Series{key, own})
	}
	slices.SortFunc(all, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Point, b.Point), a.Records[0].order().Compare(b.Records[0].order()), a.compare(b.Key))
	})
	return all
}
