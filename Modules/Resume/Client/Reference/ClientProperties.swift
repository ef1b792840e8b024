import Foundation

/// The description of a client, which it sends when it identifies.
public struct ClientProperties: Codable, Hashable, Sendable {
    /// The system, such as `iOS`.
    public let platform: String
    /// The app's version, as the app states it.
    public let appVersion: String
    /// The version of the operating system.
    public let osVersion: String
    /// The name that the user gave the device, if the system reveals it.
    public let deviceName: String
    /// A stable ID of the installation. The app creates it, because systems don't provide one without asking the user.
    public let deviceId: String?

    /// Creates properties from their fields.
    public init(
        platform: String, appVersion: String, osVersion: String, deviceName: String, deviceId: String? = nil
    ) {
        self.platform = platform
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.deviceName = deviceName
        self.deviceId = deviceId
    }

    /// The properties of this process, without a device ID.
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
