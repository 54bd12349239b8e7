// Package web is what has to be true of the TypeScript: that what the relay embeds is
// built from the sources that are there, that the browser client is as small as promised and
// can be installed from its package, runs beside the oldest peers that it names as beside the newest, and that its own tests pass. "make setup" brings what
// this takes.
package web
