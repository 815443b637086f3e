package fakeslack

import "net/http"

func (s *Server) routePage(*http.ServeMux) {}
