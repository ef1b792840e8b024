import Foundation

extension Error {
    /// The text that the app would show: the error's own, if it has one.
    package var shownText: String {
        if let text = (self as? any LocalizedError)?.errorDescription { return text }
        return Swift.type(of: self as any Error) is NSError.Type ? localizedDescription : "\(self)"
    }
}
