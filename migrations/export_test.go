package migrations

// The tests bring small files of their own.
var (
	UpFrom     = up
	DownFrom   = down
	StatusFrom = status
	Files      = files
)
