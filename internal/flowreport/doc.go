// Package flowreport counts decision records and says what they amount to: what enforcing
// would stop that runs today, for whom and because of whom (M1, M2), and what the gates
// had to say about themselves. It makes a page of it, too.
//
// Its memory is bounded whatever it is given: of each kind of name it tells a limited
// number apart, the first that it comes across, and counts what is beyond as others. So
// totals are exact even then.
//
// It knows no files and no terminal.
package flowreport
