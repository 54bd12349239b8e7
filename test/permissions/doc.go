// Package permissions runs the product as deploy/nats/nats-server.conf lets it run: a
// server with that very file, and every role as its own user.
//
//	server_test.go    the server, and connections as one of its users
//	work_test.go      every role does its work, and nothing is refused to it
//	refused_test.go   what each role must be refused
//	asyncapi_test.go  deploy/asyncapi.yaml names what package subjects does
//
// A subject that the code begins to use and the file does not name fails the first of
// them; one that the file names for no reason is for people to find.
package permissions
