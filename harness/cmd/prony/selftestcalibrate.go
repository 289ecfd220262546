package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
)

// A calibration uses an amount that adds about excessWanted to the figure. This is visible in a few
// generations, and too small to change how the server works. The pieces that use the calibration
// correct it; see gate.SelfTestCalibration.For.
const (
	excessWanted           = 0.1
	excessLeast            = 0.05
	excessMost             = 0.2
	calibrationGenerations = 12
	calibrationTries       = 4

	// excessUnsure is the maximum half-width of the interval, relative to the measured effect. A
	// less certain calibration is repeated, up to calibrationTries times.
	excessUnsure = 0.25
)

// faultUnit describes how an amount of a fault for each task is written for a build with planted
// faults.
type faultUnit struct {
	begin float64 // first amount to try
	most  float64
	text  string // format of the amount
	// inverse is true if the number is the count of tasks that share one unit.
	inverse bool
}

// faultUnits maps the faults that the self-test plants to their units.
var faultUnits = map[string]faultUnit{
	"work":       {begin: 350, most: 1 << 22, text: "work:%.0f"}, // steps
	"background": {begin: 350, most: 1 << 22, text: "background:%.0f"},
	"client":     {begin: 200, most: 1 << 22, text: "client:%.0f"},
	"alloc":      {begin: 1_500, most: 1 << 24, text: "alloc:%.0f"}, // bytes
	"wait":       {begin: 850, most: 1e9, text: "wait:%.0fns"},
	"fsync":      {begin: 1.0 / 1000, most: 1, text: "fsync:1/%.0f", inverse: true},
}

// planting returns the environment variable that plants an amount of a fault, and the planted
// amount, which is rounded to a whole number of units.
func planting(fault string, amount float64) (variable string, planted float64) {
	unit := faultUnits[fault]
	amount = min(amount, unit.most)
	number := amount
	if unit.inverse {
		number = 1 / amount
	}
	number = max(1, math.Round(number))
	if planted = number; unit.inverse {
		planted = 1 / number
	}
	return "PRONY_PLANTED=" + fmt.Sprintf(unit.text, number), planted
}

// calibration returns the effect of a fault on a figure under the load and the conditions of the
// duets. It reads the effect from the bank, or measures it and stores it in the bank.
func (m *selfTestMeasuring) calibration(ctx context.Context, fault, metric string) (gate.SelfTestCalibration, error) {
	all, err := readCalibrations(m.bank)
	if err != nil {
		return gate.SelfTestCalibration{}, err
	}
	load, err := loadOf("", m.scenario, m.conditions)
	if err != nil {
		return gate.SelfTestCalibration{}, err
	}
	is := func(c gate.SelfTestCalibration) bool {
		return c.Fault == fault && c.Metric == metric && c.Load == load
	}
	if at := slices.IndexFunc(all, is); at >= 0 {
		return all[at], nil
	}
	found, err := m.calibrate(ctx, fault)
	if err != nil {
		return gate.SelfTestCalibration{}, fmt.Errorf("calibrate %s: %w", fault, err)
	}
	for i := range found {
		found[i].Load = load
	}
	if err := writeCalibrations(m.bank, append(all, found...)); err != nil {
		return gate.SelfTestCalibration{}, err
	}
	return found[slices.IndexFunc(found, is)], nil
}

// calibrate measures the effect of a fault on each figure that calibrates it. It changes the amount
// until the first figure has about excessWanted more.
func (m *selfTestMeasuring) calibrate(ctx context.Context, fault string) ([]gate.SelfTestCalibration, error) {
	kind := gate.SelfTestKind{Name: "calibration", Fault: fault, Client: fault == "client"}
	amount := faultUnits[fault].begin
	metrics := gate.CalibrationMetrics(fault)
	for try := 1; ; try++ {
		var planted string
		planted, amount = planting(fault, amount)
		say(m.stderr, "calibrating: %s", planted)
		measured, err := m.measure(ctx, kind, planted, duet.Options{Within: m.within, Looks: 1, Generations: calibrationGenerations})
		if err != nil {
			return nil, err
		}
		first, err := gate.Calibrate(measured, fault, metrics[0], amount)
		near := err == nil && first.Excess >= excessLeast && first.Excess <= excessMost
		if sure := first.High-first.Low <= 2*excessUnsure*first.Excess; (!near || !sure) && try < calibrationTries {
			if !near {
				amount *= excessWanted / max(first.Excess, excessWanted/10)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		found := []gate.SelfTestCalibration{first}
		for _, metric := range metrics[1:] {
			c, err := gate.Calibrate(measured, fault, metric, amount)
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
		return found, nil
	}
}
