package fakeslack

import (
	"bytes"
	"io"
	"mime/multipart"
)

// parseMultipart reads the fields of a multipart form, which some clients send
// for every call; files are not kept.
func (c *call) parseMultipart(body []byte, boundary string) (string, error) {
	mr := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := mr.NextPart()
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return "", fail("invalid_form_data")
		}
		val, err := io.ReadAll(part)
		if err != nil {
			return "", fail("invalid_form_data")
		}
		c.args.Set(part.FormName(), string(val))
	}
}
