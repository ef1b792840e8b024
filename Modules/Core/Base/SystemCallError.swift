/// The system did not do what it was asked for. Whoever offers that to others throws an error of its own module instead.
package struct SystemCallError: Error, Hashable, Sendable {
    package let call: String
    package let errorNumber: Int32

    package init(_ call: String, _ errorNumber: Int32) {
        self.call = call
        self.errorNumber = errorNumber
    }
}
