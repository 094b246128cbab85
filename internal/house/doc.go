// Package house holds the rules of the house that a compiler does not know:
// which room may use which, and what every room owes its readers. It is only
// its tests.
package house
