package api

import "github.com/go-chi/chi/v5"

// Routes shows the routing table to the tests.
func (a *API) Routes() chi.Routes { return a.mux }

// OpenAPIDoc is what GET /openapi.yaml serves.
var OpenAPIDoc = openAPIDoc
