/// A failed system call. Modules convert it to an error of their own before their callers see it.
package struct SystemCallError: Error, Hashable, Sendable {
    package let call: String
    package let errorNumber: Int32

    package init(_ call: String, _ errorNumber: Int32) {
        self.call = call
        self.errorNumber = errorNumber
    }
}
