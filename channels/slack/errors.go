package slack

import "beckon/hub"

// permanent is an error that trying again does not mend.
func permanent(code, msg string) *hub.DeliveryError {
	return &hub.DeliveryError{Code: code, Msg: msg, Permanent: true}
}
