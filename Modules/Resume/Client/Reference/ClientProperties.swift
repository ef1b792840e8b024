import Foundation

/// What a client tells of itself when it identifies.
public struct ClientProperties: Codable, Hashable, Sendable {
    /// The system, such as `iOS`.
    public let platform: String
    /// The app's version.
    public let appVersion: String
    /// The system's version.
    public let osVersion: String
    /// What its person calls the device, where the system tells.
    public let deviceName: String
    /// Stable for an installation; the app's to make, since no system gives one away unasked.
    public let deviceId: String?

    /// Every field as it is.
    public init(
        platform: String, appVersion: String, osVersion: String, deviceName: String, deviceId: String? = nil
    ) {
        self.platform = platform
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.deviceName = deviceName
        self.deviceId = deviceId
    }

    /// Of this process, without a device id.
    public static var current: ClientProperties {
        let process = ProcessInfo.processInfo
        let version = process.operatingSystemVersion
        return ClientProperties(
            platform: platformName,
            appVersion: Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String ?? "0",
            osVersion: "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)",
            deviceName: process.hostName)
    }

    private static var platformName: String {
        #if os(iOS)
            "iOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(visionOS)
            "visionOS"
        #elseif os(macOS)
            "macOS"
        #elseif os(Linux)
            "Linux"
        #elseif os(Android)
            "Android"
        #else
            "unknown"
        #endif
    }
}
