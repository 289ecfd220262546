// Package fault does harm to a cluster under load, on time, and scores what the load made of it: it kills, pauses and
// wipes nodes, cuts and slows the links between them, and takes members out.
package fault
