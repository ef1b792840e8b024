import Foundation

extension Error {
    /// What the app would show: its own text, where it has given one.
    package var shownText: String {
        if let text = (self as? any LocalizedError)?.errorDescription { return text }
        return Swift.type(of: self as any Error) is NSError.Type ? localizedDescription : "\(self)"
    }
}
