// Package extract finds what a person wrote in the body of a reply: without the
// mail they answered, their signature, and what servers and clients put around
// it.
package extract
