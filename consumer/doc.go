// Package consumer reads runs.
package consumer
