package appraisal

import "testing"

func TestZone(t *testing.T) {
	for name, want := range map[string]bool{
		"America/Sao_Paulo": true, "America/Port-au-Prince": true, "America/Argentina/Buenos_Aires": true, "UTC": true, "Etc/GMT+3": true,
		"": false, "Local": false, "Factory": false, "localtime": false, "posixrules": false, "right/UTC": false, "posix/UTC": false,
		"./UTC": false, "UTC/../UTC": false, "America": false, "America/": false, "Mars/Olympus": false, "utc": false, "America/são_paulo": false,
	} {
		if zone, ok := Zone(name); ok != want || ok && zone.String() != name {
			t.Errorf("Zone(%q) = %v, %v; want %v", name, zone, ok, want)
		}
	}
}
